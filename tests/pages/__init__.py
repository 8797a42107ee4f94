"""Pages of the documentation that are made by the collection's own code."""
