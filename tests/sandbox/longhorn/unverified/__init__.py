"""Kinds that Longhorn v1.12.0 lacks, unverified: those of the design "v2 data engine live upgrade", and of v1.13.

No released definition of them was at hand. Names of fields and states are those of the design, and of the development
of v1.13 as it was read in August 2026. A later release may have other ones.
"""
