"""The pipeline: it turns a request into a release, or into a forecast."""
