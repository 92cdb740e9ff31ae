"""The refined mean, and its plan."""
