"""``python -m dpmean`` is the command ``dpmean``."""

from dpmean.cli import entry

entry()
