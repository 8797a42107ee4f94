"""The same tasks in the controller process and as shipped modules: the results must be the same."""
