"""Harnesses: the agents that do a session's work, each behind one port."""
