"""How fast, how small and how accurate the library is, as ratios within one run: ``python -m bench``."""
