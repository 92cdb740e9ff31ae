"""Exact noise: a slow reference, a fast sampler of the same distribution, and the sources of random bits."""
