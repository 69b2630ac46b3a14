"""Engines: what makes sandboxes. To add one, add a module that defines ``ENGINE``."""
