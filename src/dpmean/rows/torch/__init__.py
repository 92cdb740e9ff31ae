"""Rows of tensors."""
