"""Who may see what: a trust model turns exact whole numbers into private ones, each with its receipt."""
