"""The local model: every device randomizes what it sends."""
