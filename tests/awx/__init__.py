"""The configuration of AWX in `extensions/awx`, and jobs that run it as AWX does, without an AWX."""
