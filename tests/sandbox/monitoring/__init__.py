"""Servers of monitoring in memory."""
