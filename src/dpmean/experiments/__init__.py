"""The experiments of the paper, and our own: figures as data, one runner, plots, and a verdict on every claim."""
