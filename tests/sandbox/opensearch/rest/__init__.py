"""The requests that the cluster answers, in the shapes of the real servers."""
