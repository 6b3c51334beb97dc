"""A plug-in app that uses every extension point."""
