"""Coverage-guided fuzzing of everything that reads what others wrote: ``python -m fuzz TARGET [--runs N]``."""
