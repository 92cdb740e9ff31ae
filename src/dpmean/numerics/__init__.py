"""Numerical methods: the grid, the rotation, shells, noisy binary search, quantiles of errors."""
