"""What a validation of a judge means."""

UNVALIDATED = "unvalidated"
