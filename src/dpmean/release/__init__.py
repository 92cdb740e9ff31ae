"""Releases: what may be published."""
