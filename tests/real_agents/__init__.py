"""Agents that others wrote, as they are: do whole turns on them hold what turnlog promises?"""
