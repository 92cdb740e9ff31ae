"""Benchmarks of speed, memory and accuracy, as ratios within one run: ``python -m bench``."""
