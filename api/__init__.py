"""REST and the command line: requests become commands, refusals become problems, views answers."""
