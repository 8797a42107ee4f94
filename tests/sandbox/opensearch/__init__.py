# SPDX-License-Identifier: GPL-3.0-or-later
"""An OpenSearch cluster in memory: members, elections, shards and settings, as real servers treat them."""
