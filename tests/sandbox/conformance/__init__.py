"""The servers in memory against real ones: both play the same story, and have to answer the same."""
