"""The real controllers of Cluster API next to a lab, with machines in memory."""
