"""The rules: events, commands, refusals, and the pure functions over them."""
