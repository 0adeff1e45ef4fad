"""The pool: which harnesses are kept alive between turns, where, and for how long?"""
