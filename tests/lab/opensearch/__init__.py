"""OpenSearch for the lab: homes made from published jars, the image that runs them, and layouts of whole clusters."""
