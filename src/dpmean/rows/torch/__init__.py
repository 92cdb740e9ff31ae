"""Rows of PyTorch tensors."""
