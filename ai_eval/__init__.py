"""Evaluation of AI agents inside Django sites."""

__version__ = "0.1.0"
