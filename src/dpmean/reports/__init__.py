"""Pages to publish: a release as one self-contained document, for readers who know no theory."""
