"""The comparison with other libraries: rows and bounds fit, everybody is asked the same, tables say who is missing."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from bench.comparison_peers import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    Peer,
    Question,
    RefusedError,
    coinpress,
    opendp,
    ours,
    plan,
    tumult_formula,
)
from bench.comparison_rows import KINDS, eight, normal, one_column

import dpmean
from bench import comparison, environments

SMALL = normal(1000, 4)


def question(kind=SMALL, bound=0, epsilon=5.0, seed=0):
    return Question(kind.draw(np.random.default_rng(seed)), kind.bounds[bound], epsilon, seed)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.label)
def test_nearly_all_rows_are_within_the_bounds_and_come_back(kind):
    rows = kind.draw(np.random.default_rng(0))[:2000]
    assert rows.shape[1] == kind.d
    for bound in kind.bounds:
        entered = bound.enter(rows)
        assert np.mean(np.linalg.norm(entered, axis=1) <= bound.ball * (1 + 1e-9)) > 0.98
        assert np.mean((rows >= bound.lower) & (rows <= bound.upper)) > 0.99
        assert np.allclose(bound.leave(entered.mean(axis=0)), rows.mean(axis=0), rtol=0.02)


def test_errors_are_in_spreads_or_in_standard_deviations_of_the_worst_column():
    rows = SMALL.draw(np.random.default_rng(0))
    off = rows.mean(axis=0) + rows.std(axis=0)
    assert SMALL.error(off, rows) == pytest.approx(1)
    table = eight(500)
    rows = table.draw(np.random.default_rng(0))
    off = rows.mean(axis=0)
    off[3] += 0.5 * rows[:, 3].std()
    assert table.error(off, rows) == pytest.approx(0.5)


def test_what_is_spent_implies_epsilon_and_delta():
    rho = dpmean.Zcdp(question(epsilon=1.0).rho)
    assert 0.999 < float(dpmean.tight_epsilon(rho, 1e-6)) <= 1


@pytest.mark.parametrize("kind", [SMALL, one_column(2000)], ids=lambda kind: kind.label)
def test_everybody_is_near_the_mean_with_a_tight_bound(kind):
    ways = {
        "ours": lambda asked: ours(ADD_OR_REMOVE_ONE, asked),
        "OpenDP": lambda asked: opendp(REPLACE_ONE, asked),
        "OpenDP, private n": lambda asked: opendp(ADD_OR_REMOVE_ONE, asked),
        "COINPRESS": lambda asked: coinpress(4, True, asked),
        "PLAN": plan,
        "Tumult": lambda asked: tumult_formula(True, asked),
    }
    asked = question(kind)
    for name, release in ways.items():
        assert 0 < kind.error(release(asked), asked.rows) < 0.1, name


def test_the_formula_of_tumult_has_noise_of_the_right_size():
    kind, asked = one_column(2000), question(one_column(2000))
    found = [tumult_formula(True, replace(asked, seed=seed))[0] for seed in range(300)]
    # Half of rho for the sum of deviations from the middle, which are 50 at most.
    assert np.std(found) == pytest.approx(50 / math.sqrt(asked.rho) / kind.n, rel=0.15)
    assert abs(np.mean(found) - asked.rows.mean()) < 0.1


def test_too_few_rows_are_no_answer():
    with pytest.raises(RefusedError, match="too few"):
        ours(REPLACE_ONE, question(normal(150, 8), epsilon=1.0))


def peer(name, error, **more):
    def release(asked):
        if error is None:
            raise RefusedError("no")
        return asked.rows.mean(axis=0) + error * (1 + 0.01 * asked.seed)

    return Peer(name, {"only": release}, **more)


def test_tables_show_the_best_way_and_who_gave_no_answer_or_is_missing():
    worse = Peer("two ways", {**peer("", 0.5).ways, "other": peer("", 0.1).ways["only"]})
    everybody = [
        worse,
        peer("far", 3.0),
        peer("useless", 100.0),
        peer("silent", None),
        Peer("absent", {}, missing="is not"),
    ]
    line = comparison.measured(SMALL, SMALL.bounds[0], 1.0, everybody, 2)
    assert line.runs == 6
    rows = comparison.table([line])
    assert rows[0] == "| rows | bound | two ways | far | useless | silent | absent | sampling |"
    assert rows[2] == "| normal, 1000 x 4 | tight | **0.1** | 3.1 | > 10 | no answer | missing | 0.032 |"
    assert all(0 < share < 0.1 for share in comparison.uncertainties([line]))


def test_a_report_names_versions_and_only_the_block_of_a_page_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "_ROOT", tmp_path)  # no library has an environment there
    line = comparison.measured(SMALL, SMALL.bounds[0], 1.0, [peer("one", 0.1)], 2)
    cells = {"dpmean": line.cells["one"]}
    lines = comparison.report({(REPLACE_ONE, 1.0): [replace(line, cells=cells)]}, 2)
    assert "0 of 0 lines with loose bounds (0 without an answer) and 1 of 1 lines with tight" in "\n".join(lines)
    assert "PyDP is missing" in "\n".join(lines)
    assert "### Epsilon = 1 (rho = 0.0244): one row is replaced by another, and n is public" in lines
    page = tmp_path / "page.md"
    page.write_text(f"above\n{comparison.BEGIN}\nold\n{comparison.END}\nbelow\n")
    comparison.write(["new"], page)
    assert page.read_text() == f"above\n{comparison.BEGIN}\n\nnew\n{comparison.END}\nbelow\n"


def test_a_process_in_an_environment_answers_jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "_ROOT", tmp_path)
    here = environments.Environment("here", (), "json")
    assert not here.installed()
    here.python.parent.mkdir(parents=True)
    here.python.symlink_to(sys.executable)
    assert here.installed()
    script = tmp_path / "script.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'twice': 2 * json.loads(line)['x']}), flush=True)\n"
    )
    with here.worker(script) as ask:
        assert [ask({"x": x})["twice"] for x in (1, 2.5)] == [2, 5.0]
