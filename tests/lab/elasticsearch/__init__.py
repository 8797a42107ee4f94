# SPDX-License-Identifier: GPL-3.0-or-later
"""Real Elasticsearch members, run by the lab as OpenSearch's are."""
