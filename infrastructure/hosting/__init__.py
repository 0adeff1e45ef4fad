"""Hosted turns: how does a turn run on a harness that turnlog itself started?"""
