"""Who may see what: a trust model turns exact integers into private ones, each with its receipt."""
