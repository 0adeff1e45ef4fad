"""One file of routes for each thing that a caller can ask about."""
