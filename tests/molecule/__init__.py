# SPDX-License-Identifier: GPL-3.0-or-later
"""Molecule on the scenarios of extensions/molecule, and the servers that they run on."""
