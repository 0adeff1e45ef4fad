"""Tests of lanes in the log."""
