"""Rows in files."""
