"""Grades what an agent did by querying the real database."""
