"""A curator that is asked about totals that a test made, instead of rows."""

from dataclasses import dataclass

import numpy as np

from dpmean import Neighbours
from dpmean.numerics.shells import make_shells
from dpmean.queries.queries import Distances, Pairs
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.handles import Binned, Counts, Sample, Sums


@dataclass
class Given:
    """Rows that answer every query with a total that is given, and are as many as that says."""

    total: object
    n: int = 1
    d: int = 1
    domain: object = None

    def through(self, domain):  # noqa: ARG002  whatever they are seen through
        return self

    def answer(self, query):  # noqa: ARG002  whatever is asked
        return self.total


class Answering:
    """Puts every question of a test to a curator, about a total in the place of a handle."""

    quantile_std = staticmethod(Curator.quantile_std)

    def __init__(self, budget, noise, neighbours=Neighbours.REPLACE_ONE):
        self.rows = Given(None)
        self.curator = Curator(self.rows, budget, noise, neighbours)

    @property
    def receipts(self):
        return self.curator.receipts

    @property
    def left(self):
        return self.curator.left

    def counts(self, histogram):
        """Return the handle of counts."""
        self.rows.total = histogram
        made = self.curator.count(self.curator.rows, Distances(np.zeros(1), 0, histogram.points))
        object.__setattr__(made, "n", int(histogram.counts[0, -1]))
        return made

    def sums(self, total, shells):
        """Return the handle of sums."""
        self.rows.total = total
        return self.curator.add_up(self.curator.rows, shells)

    def quantile(self, histogram, *asked, **named):
        return self.curator.quantile(self.counts(histogram), *asked, **named)

    def upper_end(self, histogram, *asked):
        return self.curator.upper_end(self.counts(histogram), *asked)

    def count_beyond(self, histogram, *asked):
        return self.curator.count_beyond(self.counts(histogram), *asked)

    def mean_weights(self, histogram, *asked):
        return self.curator.mean_weights(self.counts(histogram), *asked)

    def clipped_sum(self, total, shells, *asked):
        return self.curator.clipped_sum(self.sums(total, shells), *asked)

    def bias_gap(self, total, shells, *asked):
        return self.curator.bias_gap(self.sums(total, shells), *asked)


ANSWERS = (
    "quantile",
    "coordinate_medians",
    "upper_end",
    "count_beyond",
    "mean_weights",
    "ball_sum",
    "clipped_sum",
    "bias_gap",
    "ball_squares",
    "octaves",
    "squares",
    "column_medians",
    "count_outside",
)
"""What a curator answers with noise."""
HANDLES = ("hold", "take", "through", "count", "add_up", "bin", "add_up_bins")
"""What a curator gives a handle for."""


class Taping:
    """Hands on what a curator answers, and writes it down: the answer, what is left, and the receipts."""

    quantile_std = staticmethod(Curator.quantile_std)

    def __init__(self, curator):
        self.curator, self.rows, self.neighbours, self.budget = curator, curator.rows, curator.neighbours, curator.left
        self.answers = []

    def __getattr__(self, name):
        if name not in ANSWERS:
            return getattr(self.curator, name)

        def ask(*asked, **named):
            found = getattr(self.curator, name)(*asked, **named)
            self.answers.append((name, found, self.curator.left, self.curator.receipts))
            return found

        return ask


class Playing:
    """A curator without rows: its handles stand for nothing, and its answers are those that another gave."""

    quantile_std = staticmethod(Curator.quantile_std)

    def __init__(self, tape):
        self.rows, self.neighbours = Sample(tape.rows.n, tape.rows.d, tape.rows.domain), tape.neighbours
        self.left, self.receipts, self._tape = tape.budget, (), iter(tape.answers)

    def hold(self):
        pass

    def put_aside(self, cost):
        self.left, self._aside = self.left - cost, cost

    def take_back(self):
        self.left += self._aside

    def take(self, positions, of=None):
        domain = (of or self.rows).domain
        return Sample(len(positions), self.rows.d, domain)

    def through(self, sample, domain):
        return Sample(sample.n, sample.d, domain)

    def count(self, sample, view):
        return Counts(view.points, sample.n // 2 if isinstance(view, Pairs) else sample.n)

    def add_up(self, _sample, shells):
        return Sums(shells)

    def bin(self, sample, bins):
        return Binned(bins, Counts(bins.distances.points, sample.n))

    def add_up_bins(self, binned, edges):
        return Sums(make_shells(binned.bins, edges))

    def __getattr__(self, name):
        if name not in ANSWERS:
            raise AttributeError(name)

        def ask(*_asked, **_named):
            asked, found, self.left, self.receipts = next(self._tape)
            assert asked == name
            return found

        return ask
