"""Rows as their holder may see them, and nobody else: what is in a file, and what of it cannot be read."""
