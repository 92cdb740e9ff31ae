"""What a new engine needs to add up rows that are stored elsewhere: a protocol, a kernel, and a wrapper for rows.

>>> import numpy as np, dpmean
>>> from dpmean.engines import Streamed
>>> class Blocks:
...     def __init__(self, blocks):
...         self.blocks, self.shape = blocks, (sum(map(len, blocks)), blocks[0].shape[1])
...     def add_up(self, kernel):
...         total = kernel.zeros()
...         for block in self.blocks:
...             kernel.add(block, total)
...         return total, self.shape[0]
...     def gather(self, positions):
...         return np.concatenate(self.blocks)[positions]
>>> blocks = [np.random.default_rng(k).normal(5, 1, (9000, 4)) for k in range(3)]
>>> release = dpmean.mean(Streamed(Blocks(blocks)), rho=0.5, norm_bound=60.0)
>>> bool(abs(release.mean - 5).max() < 0.1)
True
"""

from dpmean.rows.block_query import Kernel
from dpmean.rows.engine import Engine, Streamed

__all__ = ["Engine", "Kernel", "Streamed"]
