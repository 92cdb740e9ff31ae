"""Where rows live. An engine prepares tallies and adds up clipped rows; it knows nothing of privacy."""
