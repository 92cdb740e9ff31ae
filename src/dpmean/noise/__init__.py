"""Exact noise: a slow reference, a fast sampler of the same law, and the sources of random bits."""
