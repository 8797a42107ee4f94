# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins for the controllers: each reacts to changes, a moment of virtual time later."""
