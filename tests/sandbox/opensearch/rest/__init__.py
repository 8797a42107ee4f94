# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests that the cluster answers, in the shapes of the real servers."""
