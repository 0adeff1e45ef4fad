"""A small agent without a model: whatever it does follows from what it was told."""
