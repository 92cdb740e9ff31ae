"""A fingerprint tells whether two passes saw the same rows in the same order."""

import numpy as np

from dpmean.rows.fingerprint import fingerprint


def test_a_fingerprint_tells_values_and_positions_but_not_blocks():
    block = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 4.0], [-0.0, 4.0]]).view(np.uint64)
    whole = int(fingerprint(block, 0))
    assert (int(fingerprint(block[:1], 0)) + int(fingerprint(block[1:], 1))) % 2**64 == whole
    others = [block[::-1].copy(), block[:, ::-1].copy(), block[[1, 0, 2, 3]], block[[0, 1, 3, 2]], block ^ np.uint64(1)]
    assert whole not in [int(fingerprint(other, 0)) for other in others]
    assert int(fingerprint(block, 1)) != whole


def test_two_rows_that_change_places_are_found_whatever_they_hold():
    """Numbers of few digits differ in high bits alone; a sum of products would lose those."""
    rows = np.array([[2.0**k] for k in range(-40, 40)] + [[float(k)] for k in range(80)])
    whole = int(fingerprint(rows.view(np.uint64), 0))
    for i in range(len(rows)):
        for j in range(i):
            if rows[i] != rows[j]:
                other = rows.copy()
                other[[i, j]] = other[[j, i]]
                assert int(fingerprint(other.view(np.uint64), 0)) != whole
