"""Lanes in the log: written, looked up, resolved."""
