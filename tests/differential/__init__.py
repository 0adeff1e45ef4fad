"""The same conversations by different ways: does a model see the same, does the log keep it?"""
