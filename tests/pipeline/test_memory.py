"""Where memory does not suffice, no error tells how many rows there are: that number is private."""

import subprocess
import sys

import pytest

N = 20_000_003
START = f"""
import resource, traceback
import numpy as np, pandas as pd, dpmean, dpmean.sklearn
few = np.random.default_rng(0).normal(size=(2000, 2)).astype("f4")
dpmean.mean(pd.DataFrame(few, columns=["a", "b"]), rho=1.0, norm_bound=9.0)  # everything is loaded
dpmean.mean_by(few, by=few[:, 0] > 0, groups=[True], rho=1.0, norm_bound=9.0, privacy_unit=np.arange(2000, dtype="i4"))
ledger = dpmean.Ledger(rho=9.0)
given = dict(rho=1.0, norm_bound=9.0, ledger=ledger)
X = np.zeros(({N}, 2), dtype="f4")
keys = np.arange({N}, dtype="i4")
frame = pd.DataFrame({{"a": X[:, 0], "b": np.zeros({N}, dtype="i1")}})
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + {N} * 2,) * 2)
try:
    CALL
except Exception as error:
    told = "".join(traceback.format_exception(error))
    print(type(error).__name__, str({N}) in told, ledger.spent)
"""
CALLS = {
    "frame": "dpmean.mean(frame, **given)",
    "persons": "dpmean.mean(X, privacy_unit=keys, **given)",
    "groups": "dpmean.mean_by(X, by=keys, groups=[1, 2], **given)",
    "classifier": "dpmean.sklearn.PrivateNearestCentroid(classes=[0, 1], **given).fit(X, keys)",
    "estimator": "dpmean.sklearn.PrivateMean(**given).fit(frame)",
}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
@pytest.mark.parametrize("way", CALLS)
def test_no_error_of_memory_tells_the_number_of_rows(way):
    done = subprocess.run(
        [sys.executable, "-c", START.replace("CALL", CALLS[way])], capture_output=True, text=True, check=False
    )
    assert done.stdout.split()[:2] == ["MemoryError", "False"], done.stdout + done.stderr
