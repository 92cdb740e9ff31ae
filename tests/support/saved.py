"""Files of tests, packed if their names say so."""

import gzip

import pyarrow as pa

_PACKS = {".gz": gzip.compress, ".zst": lambda text: pa.compress(text, "zstd", asbytes=True)}


def saved(path, data):
    """Write a file, and return its path."""
    path.write_bytes(_PACKS.get(path.suffix, bytes)(data))
    return path
