"""Views that follow the log behind its writers, each with a checkpoint."""
