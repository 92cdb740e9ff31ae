"""Seeded releases, kept as vectors: the same seed gives the same bits, whatever becomes of the code.

``python -m tests.release.test_releases`` writes them anew; a change of their bits is a change for users,
and is said in the CHANGELOG.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import dpmean
from dpmean import baselines

VECTORS = Path(__file__).parents[1] / "vectors" / "releases.json"


def rows(n, d):
    """Return rows that are made by arithmetic alone: integers modulo primes, on a scale of their own."""
    i, j = np.arange(n, dtype=np.int64)[:, None], np.arange(d, dtype=np.int64)[None, :]
    first, second = (i * 7919 + j * 104729 + i * i * 31) % 1009, (i * 6007 + j * j * 373) % 863
    return (first + second) / 256.0 - 3.0


def uneven(n, d):
    """Return rows whose columns differ in scale: one, a half, a third, and so on."""
    return rows(n, d) / np.arange(1, d + 1)


def with_a_tail(n, d):
    """Return rows of which some are far out, in too few pairs for their octaves to show that."""
    found = 2 * rows(n, d)
    found[::280] = 1e6
    return found


def table(n):
    """Return a table with persons and groups."""
    columns = {f"c{j}": column for j, column in enumerate(rows(n, 3).T)}
    return pd.DataFrame({**columns, "who": np.arange(n) * 17 % (n // 2), "team": np.where(np.arange(n) % 3, "a", "b")})


def by_person(frame, **more):
    """Return the means of groups in which persons count."""
    asked = {"by": "team", "groups": ["a", "b", "none"], "columns": ["c0", "c1", "c2"], "privacy_unit": "who"}
    return dpmean.mean_by(frame, rho=0.5, **asked, **more, **BALL, **SOME)


def gaps(n, d):
    """Return rows of which some lack the first value or the third."""
    found = uneven(n, d)
    found[::11, 0], found[5::7, 2] = np.nan, np.inf
    return found


def csv(folder):
    """Return the name of a file of rows."""
    table(3000)[["c0", "c1", "c2"]].to_csv(folder / "rows.csv", index=False)
    return str(folder / "rows.csv")


def parquet(folder):
    """Return the name of a file of rows."""
    table(3000)[["c0", "c1", "c2"]].to_parquet(folder / "rows.parquet")
    return str(folder / "rows.parquet")


def tensor():
    """Return rows as a tensor."""
    import torch  # where it is used: it takes a second to load

    return torch.as_tensor(rows(3000, 6))


ONE, SOME = {"neighbours": "replace-one", "seed": 1}, {"neighbours": "add-or-remove-one", "seed": 2}
BALL, BOX = {"norm_bound": 100.0}, {"bounds": (-50.0, 50.0)}
LOOSE = {"bounds": ([-1e7, -1e3, 0.0, -1e9], [1e7, 1e4, 1e6, 2e9])}
GIVEN = {"shape": [4.0, 2.0, 1.0, 0.5, 0.25, 0.125]}
RELEASES = {
    "refined": lambda _: dpmean.mean(rows(4000, 16), rho=0.5, **BALL, **ONE),
    "refined, private n": lambda _: dpmean.mean(rows(4000, 16), rho=0.5, **BALL, **SOME),
    "refined, from a sample": lambda _: dpmean.mean(rows(150_000, 4), epsilon=2.0, delta=1e-6, **BOX, **SOME),
    "refined, one pass": lambda _: dpmean.mean(rows(150_000, 4), rho=0.5, passes=1, **BALL, **ONE),
    "refined, one column": lambda _: dpmean.mean(rows(5000, 1)[:, 0], rho=0.2, **BOX, **SOME),
    "scales found": lambda _: dpmean.mean(uneven(3000, 16), rho=0.5, **BALL, **ONE),
    "scales found, private n": lambda _: dpmean.mean(uneven(3000, 16), rho=0.5, **BALL, **SOME),
    "scales found, one pass": lambda _: dpmean.mean(uneven(17_000, 8), rho=0.5, passes=1, **BALL, **ONE),
    "scales found, from a sample": lambda _: dpmean.mean(uneven(17_000, 8), rho=0.5, **BALL, **SOME),
    "scales given": lambda _: dpmean.mean(uneven(3000, 6), rho=0.5, **GIVEN, **BALL, **SOME),
    "scales given, table": lambda _: dpmean.mean(uneven(3000, 6), rho=0.5, **GIVEN, **BOX, **ONE),
    "table with loose ranges": lambda _: dpmean.mean(rows(3000, 4), rho=0.5, **LOOSE, **ONE),
    "table with loose ranges, private n": lambda _: dpmean.mean(rows(3000, 4), rho=0.5, **LOOSE, **SOME),
    "table with a tail": lambda _: dpmean.mean(with_a_tail(3000, 9), rho=20, **BOX, **ONE),
    "shifted": lambda _: dpmean.mean(rows(6000, 8), rho=1.0, method="shifted", **BALL, **ONE),
    "shifted, private n": lambda _: dpmean.mean(rows(6000, 8), rho=1.0, method="shifted", **BALL, **SOME),
    "clipped": lambda _: dpmean.mean(rows(4000, 8), rho=0.5, method="clipped", **BOX, **ONE),
    "clipped, one pass": lambda _: dpmean.mean(rows(4000, 8), rho=0.5, method="clipped", passes=1, **BALL, **SOME),
    "local": lambda _: dpmean.mean(rows(40_000, 4), epsilon=4.0, trust="local", seed=3, **BALL),
    "shuffle": lambda _: dpmean.mean(rows(20_000, 3), epsilon=4.0, delta=1e-6, trust="shuffle", seed=4, **BALL),
    "persons": lambda _: dpmean.mean(
        table(6000), columns=["c0", "c1", "c2"], privacy_unit="who", rho=0.5, **BALL, **SOME
    ),
    "groups": lambda _: dpmean.mean_by(
        table(6000), by="team", groups=["a", "b", "none"], columns=["c0", "c1", "c2"], rho=0.5, **BALL, **SOME
    ),
    "persons in groups": lambda _: by_person(table(6000)),
    "persons in two groups": lambda _: by_person(table(6000), contributions=2),
    "rows left out": lambda _: dpmean.mean(gaps(17_000, 4), rho=0.5, nan="drop", **BALL, **SOME),
    "values counted": lambda _: dpmean.mean(
        gaps(4000, 4), rho=0.5, nan={0: 1.5, 2: "impute"}, count_values=True, **BOX, **ONE
    ),
    "CSV": lambda folder: dpmean.mean(csv(folder), rho=0.5, **BALL, **ONE),
    "Parquet": lambda folder: dpmean.mean(parquet(folder), rho=0.5, **BALL, **SOME),
    "sparse": lambda _: dpmean.mean(scipy.sparse.csr_matrix(rows(3000, 6)), rho=0.5, **BALL, **ONE),
    "tensor": lambda _: dpmean.mean(tensor(), rho=0.5, **BALL, **SOME),
    "COINPRESS": lambda _: baselines.coinpress_mean(rows(4000, 8), rho=0.5, norm_bound=100.0, seed=5),
}


def told(release):
    """Return all that a release tells, every float to the bit."""
    if isinstance(release, dpmean.GroupedRelease):
        return {name: None if name in release.refused else told(one) for name, one in release.items()}
    scales = release.scales
    known = {} if scales is None else {"scales": [[x.hex() for x in line] for line in (scales.values, scales.units)]}
    if release.value_counts is not None:
        known["value_counts"] = list(release.value_counts.counts)
    return {
        "mean": [float(x).hex() for x in release.mean],
        "noise_std": [float(x).hex() for x in np.ravel(release.noise_std)],
        "centre": [float(x).hex() for x in release.centre],
        "radius": float(release.radius).hex(),
        "n": release.n,
        "receipts": [[receipt.step, repr(receipt.cost)] for receipt in release.receipts],
        **known,
    }


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("name", RELEASES)
def test_the_same_seed_gives_the_same_bits(name, tmp_path):
    assert told(RELEASES[name](tmp_path)) == json.loads(VECTORS.read_text())[name]


def test_the_releases_cover_what_scales_are_found_from():
    kept = {
        name: {step for step, _ in one["receipts"]}
        for name, one in json.loads(VECTORS.read_text()).items()
        if "receipts" in one
    }
    for name in ("scales found", "scales found, private n", "scales found, one pass", "scales found, from a sample"):
        assert {"squares 6", "far pairs 2"} <= kept[name]
    assert not any({"squares 1", "octaves"} & kept[name] for name in ("scales given", "scales given, table"))
    assert {"octaves", "medians", "tails 1"} <= kept["table with loose ranges"]
    assert {"tails 1, by column", "tails 2"} <= kept["table with a tail"]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = {name: told(release(Path(folder))) for name, release in RELEASES.items()}
    VECTORS.write_text(json.dumps(made, indent=1) + "\n")
