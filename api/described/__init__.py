"""What the interface's description says of answers, in one file for each topic."""
