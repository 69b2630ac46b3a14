"""Bindings: how a call reaches the world. To add one, add a module that defines ``BINDING``."""
