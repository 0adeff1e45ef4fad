"""Views: what a reader wants to know, folded from recorded facts by pure functions."""
