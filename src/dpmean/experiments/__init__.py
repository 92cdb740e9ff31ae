"""The paper's experiments, and ours beside them: figures as data, one runner, plots, and a verdict on every claim."""
