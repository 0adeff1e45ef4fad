"""The command line. `program` says which commands there are; the rest is imported when needed."""

from api.cli.program import main

__all__ = ["main"]
