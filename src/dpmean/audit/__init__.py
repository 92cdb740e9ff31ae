"""Audits: attacks that tell whether the promise is kept."""
