"""The version, for whoever needs to name it."""

__version__ = "0.2.0"
