"""The real controllers of machine-api-operator, and what the lab makes of their machines."""
