"""From a request to a release."""
