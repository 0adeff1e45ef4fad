"""Agents that speak the Agent Client Protocol, as processes of this machine."""
