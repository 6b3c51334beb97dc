"""System checks. Each has an id, and a hint that says what would be right."""
