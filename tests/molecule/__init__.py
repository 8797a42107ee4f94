"""Molecule on the scenarios of extensions/molecule, and the servers that they run on."""
