"""The imperative shell: databases, clocks, files; everything that touches the world outside."""
