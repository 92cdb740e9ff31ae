"""The attacks of the audit: for each mechanism, two neighbouring datasets and a score that should distinguish them."""
