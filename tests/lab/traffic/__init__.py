"""Continuous traffic against a cluster in the lab, and the checker that reads every acknowledged document back."""

from tests.lab.traffic.members import Target
from tests.lab.traffic.report import Report
from tests.lab.traffic.traffic import Traffic, check, seed

__all__ = ["Report", "Target", "Traffic", "check", "seed"]
