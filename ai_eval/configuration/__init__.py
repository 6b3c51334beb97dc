"""Configuration as code: everything that the admin configures, as one YAML or JSON document."""
