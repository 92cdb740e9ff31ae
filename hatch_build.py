"""The long description of the package: the README, whose links must work where there are no other files."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_REFERENCE = re.compile(r"^\[([^\]]+)\]: (?!https?:)(\S+)\n", re.MULTILINE)
_PICTURE = re.compile(r"^!\[[^\]]*\]\[([^\]]+)\]\n\n(?:\*.*?\*\n\n)?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\[([^\]]+)\]")


def describe(readme: str, source: str | None, version: str) -> str:
    """Return the README with links to the source of this version; where its address is not known, without them."""
    targets = dict(_REFERENCE.findall(readme))
    if source is not None:
        host = source.rstrip("/")
        return _REFERENCE.sub(lambda found: f"[{found[1]}]: {host}/{_kind(found[2])}/v{version}/{found[2]}\n", readme)
    text = _PICTURE.sub(lambda found: "" if found[1] in targets else found[0], _REFERENCE.sub("", readme))
    return _LINK.sub(lambda found: found[1] if found[2] in targets else found[0], text).rstrip() + "\n"


def _kind(path: str) -> str:
    return "raw" if path.endswith((".png", ".svg")) else "blob"


class LongDescription(MetadataHookInterface):
    """Sets ``readme`` when the package is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read the README, and the address of the source in ``[project.urls]``, if there is one."""
        root = Path(self.root)
        readme = (root / "README.md").read_text(encoding="utf-8")
        found = re.search(r'"(.+)"', (root / "src" / "dpmean" / "version.py").read_text(encoding="utf-8").split("=")[1])
        version = found[1] if found else ""
        text = describe(readme, metadata.get("urls", {}).get("Source"), version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
