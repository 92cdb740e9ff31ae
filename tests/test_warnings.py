"""A warning names the line of the user's code, whichever way they came in."""

import ast
import multiprocessing.pool
import os
import re
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpmean
import dpmean.baselines
from dpmean.sklearn import PrivateMean, PrivateNearestCentroid, SeededWarning
from dpmean.warning import warn_user
from tests.support.public import REPLACED

SOURCE = Path(dpmean.__file__).parent
ROWS = np.random.default_rng(0).normal(1.0, 1.0, (400, 3))
LABELS = np.arange(400) % 2
FEW = {"rho": 0.01, "norm_bound": 10.0, "allow_few_rows": True}
LARGE_DELTA = {"epsilon": 1.0, "delta": 0.1, "norm_bound": 10.0}


def centroid(**more):
    return PrivateNearestCentroid(**{"classes": [0, 1], "rho": 1.0, "norm_bound": 10.0, **more})


def in_a_class():
    class Study:
        def __init__(self):
            self.release = dpmean.mean(ROWS, **FEW)

    return Study()


def in_text():
    exec(compile("dpmean.mean(ROWS, **FEW)", __file__, "exec"), {"dpmean": dpmean, "ROWS": ROWS, "FEW": FEW})  # noqa: S102  our own text


WAYS = {
    "mean": lambda: dpmean.mean(ROWS, **FEW),
    "shifted": lambda: dpmean.mean(ROWS, method="shifted", **FEW),
    "one pass": lambda: dpmean.mean(ROWS, passes=1, **FEW),
    "people": lambda: dpmean.mean(ROWS, privacy_unit=np.arange(400), **FEW),
    "private number": lambda: dpmean.mean(ROWS, neighbours="add-or-remove-one", **FEW),
    "ledger": lambda: dpmean.mean(ROWS, ledger=dpmean.Ledger(rho=1), **FEW),
    "delta": lambda: dpmean.mean(ROWS, **LARGE_DELTA),
    "large epsilon": lambda: dpmean.mean(ROWS, rho=9.0, norm_bound=10.0),
    "large epsilon of groups": lambda: dpmean.mean_by(ROWS, by=LABELS, groups=[0, 1], rho=9.0, norm_bound=10.0),
    "large epsilon of a fit": lambda: PrivateMean(rho=9.0, norm_bound=10.0).fit(ROWS),
    "local": lambda: dpmean.mean(ROWS, epsilon=1.0, norm_bound=10.0, allow_few_rows=True, trust="local"),
    "shuffle": lambda: dpmean.mean(
        ROWS, epsilon=1.0, delta=1e-9, norm_bound=10.0, allow_few_rows=True, trust="shuffle"
    ),
    "map": lambda: list(map(lambda rows: dpmean.mean(rows, **FEW), [ROWS])),  # noqa: C417  a frame of C between
    "class": in_a_class,
    "gaussian_mechanism": lambda: dpmean.baselines.gaussian_mechanism(ROWS, **LARGE_DELTA),
    "adaptive_clipping": lambda: dpmean.baselines.adaptive_clipping(ROWS, **LARGE_DELTA),
    "quantile_clipping": lambda: dpmean.baselines.quantile_clipping(ROWS, **LARGE_DELTA),
    "coinpress_mean": lambda: dpmean.baselines.coinpress_mean(ROWS, rounds=2, **LARGE_DELTA),
    "coinpress_covariance_mean": lambda: dpmean.baselines.coinpress_covariance_mean(ROWS, rounds=2, **LARGE_DELTA),
    "plan_mean": lambda: dpmean.baselines.plan_mean(ROWS, **LARGE_DELTA),
    "fit": lambda: PrivateMean(**FEW).fit(ROWS),
    "fit_transform": lambda: PrivateMean(**FEW).fit_transform(ROWS),
    "fit_transform as pandas": lambda: PrivateMean(**FEW).set_output(transform="pandas").fit_transform(ROWS),
    "seeded fit": lambda: PrivateMean(rho=1.0, norm_bound=10.0, random_state=1).fit(ROWS),
    "seeded fit_transform": lambda: PrivateMean(rho=1.0, norm_bound=10.0, random_state=1).fit_transform(ROWS),
    "pipeline": lambda: make_pipeline(FunctionTransformer(), PrivateMean(**FEW)).fit(ROWS),
    "pipeline, fit_transform": lambda: make_pipeline(PrivateMean(**FEW), FunctionTransformer()).fit_transform(ROWS),
    "seeded centroids": lambda: centroid(random_state=1).fit(ROWS, LABELS),
    "refused class": lambda: centroid(classes=[0, 1, 2]).fit(ROWS, LABELS),
    "column y": lambda: centroid().fit(ROWS, LABELS[:, None]),
    "score of a column y": lambda: centroid().fit(ROWS, LABELS).score(ROWS, LABELS[:, None]),
    "fit and predict": lambda: centroid(random_state=1).fit(ROWS, LABELS).predict(ROWS),
    "cross-validation": lambda: cross_val_score(centroid(random_state=1, rho=4.0), ROWS, LABELS, cv=2),
}


def line_of(way):
    """Return the line on which a way calls the package."""
    return way.__code__.co_firstlineno + (3 if way is in_a_class else 0)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_warning_names_the_line_of_the_call(way):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        way()
    assert caught
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, line_of(way))}


def test_code_without_a_module_is_named_too():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_text()
    assert [(one.filename, one.lineno) for one in caught] == [(__file__, 1)]


def test_groups_and_plans_say_it_in_what_they_return():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dpmean.mean_by(ROWS, by=LABELS, groups=[0, 1], **FEW)
        assert all(release.settings.few_rows for release in found.released.values())
        assert "too few rows" in str(dpmean.plan(10, 3, rho=0.01))


def test_a_warning_is_shown_once_per_line_and_can_be_turned_off_by_module():
    """A private number of rows is another one each time, and so are the words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        for _ in range(3):
            dpmean.mean(ROWS, **FEW, **REPLACED)
        assert len(caught) == 1
        dpmean.mean(ROWS, **FEW, **REPLACED)
        assert len(caught) == 2
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."))
        dpmean.mean(ROWS, **FEW, **REPLACED)
        assert len(caught) == 2


def in_a_pool_of_threads(work):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work, ROWS, **FEW).result()


def in_threads_of_joblib(work):
    joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(work)(ROWS, **FEW) for _ in range(2))


def in_a_pool_of_multiprocessing(work):
    with multiprocessing.pool.ThreadPool(1) as pool:
        pool.apply(work, (ROWS,), FEW)


def in_a_thread(work):
    thread = threading.Thread(target=work, args=(ROWS,), kwargs=FEW)
    thread.start()
    thread.join()


def call_mean(rows, **options):
    return dpmean.mean(rows, **options)


WORKERS = (in_a_pool_of_threads, in_threads_of_joblib, in_a_pool_of_multiprocessing, in_a_thread)


@pytest.mark.parametrize("worker", WORKERS)
def test_where_nothing_is_the_users_the_public_name_is_the_place(worker):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        worker(dpmean.mean)
    code = dpmean.mean.__code__
    assert caught
    assert {one.filename for one in caught} == {code.co_filename}
    assert {one.lineno for one in caught} <= {line for *_, line in code.co_lines()}


@pytest.mark.parametrize("worker", WORKERS)
def test_a_function_of_the_user_that_a_worker_calls_is_named(worker):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        worker(call_mean)
    assert caught
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, call_mean.__code__.co_firstlineno + 1)}


PROCESSES = {
    "loky": "joblib.Parallel(n_jobs=2)(joblib.delayed(dpmean.mean)(rows, **FEW) for _ in range(2))",
    "spawn": "multiprocessing.get_context('spawn').Pool(1).apply(dpmean.mean, (rows,), FEW)",
    "forkserver": "multiprocessing.get_context('forkserver').Pool(1).apply(dpmean.mean, (rows,), FEW)",
}


@pytest.mark.slow
@pytest.mark.parametrize("call", PROCESSES.values(), ids=PROCESSES)
def test_a_process_names_the_public_name_too(call, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing\nimport joblib\nimport numpy as np\nimport dpmean\n"
        f"FEW = {FEW!r}\n"
        f"if __name__ == '__main__':\n    rows = np.ones((400, 3))\n    {call}\n"
    )
    environment = {**os.environ, "PYTHONWARNINGS": "always::UserWarning"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment)
    places = re.findall(r"^(.+):\d+: TooFewRowsWarning", done.stderr, re.MULTILINE)
    assert places, done.stderr
    assert set(places) == {dpmean.mean.__code__.co_filename}


def test_without_a_public_name_the_outermost_frame_of_the_package_is_the_place():
    names = {"__name__": "dpmean.somewhere", "warn_user": warn_user}
    text = "def work():\n    warn_user('here', UserWarning)\ndef start():\n    work()\n"
    exec(compile(text, "inside.py", "exec"), names)  # noqa: S102  our own text
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=names["start"])
        thread.start()
        thread.join()
    assert [(one.filename, one.lineno) for one in caught] == [("inside.py", 4)]


def test_a_warning_that_is_an_error_is_raised():
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeededWarning)
        with pytest.raises(SeededWarning, match="protects nobody"):
            PrivateMean(rho=1.0, norm_bound=10.0, random_state=1).fit(ROWS)


def test_nothing_but_the_helper_calls_warn():
    """A call of ``warnings.warn`` would name one of our own lines, or that of one way in."""
    for path in SOURCE.rglob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        named = {
            func.attr for func in calls if isinstance(func, ast.Attribute) and ast.unparse(func.value) == "warnings"
        }
        assert path.name == "warning.py" or not named & {"warn", "warn_explicit"}, f"{path.name}: use warn_user"
