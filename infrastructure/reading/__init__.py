"""What do callers ask of the views and the log? One file a question; nothing here writes."""
