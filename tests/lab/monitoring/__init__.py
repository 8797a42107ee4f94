# SPDX-License-Identifier: GPL-3.0-or-later
"""Real servers of monitoring: Prometheus, Alertmanager and the push gateway."""
