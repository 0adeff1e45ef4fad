"""Is the history that a client tells the one that we know, and where not first?"""
