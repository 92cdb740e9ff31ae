"""Coverage-guided fuzzing of all code that reads outside input: ``python -m fuzz TARGET [--runs N]``."""
