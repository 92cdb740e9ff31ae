"""Estimators: which queries are sent to the curator, and in which order."""
