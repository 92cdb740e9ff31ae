"""What the audit attacks: for each mechanism, two neighbouring data sets and a score that ought to tell them apart."""
