"""
The A/B harness: the same tasks, the same small world, four ways of showing the tools.

A task is judged by what the world looks like afterwards, never by what the model said.
"""
