"""The demonstration: a small library with a help desk."""
