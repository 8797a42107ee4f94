"""The servers in memory against real ones: the same story is told to both, and both have to answer the same."""
