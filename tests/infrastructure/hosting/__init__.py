"""Tests of hosted turns."""
