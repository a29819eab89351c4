"""Models that a seed and a number make: real numbers, the same with control flow, and integers, by turns."""
import numpy as np

from .draft import Draft
from .random_control import CONTROL
from .random_graphs import TABLE, random_graph
from .random_integers import random_integer_graph

KINDS = (random_graph, lambda n: random_graph(n, TABLE + 4 * CONTROL), random_integer_graph)


def random_model(seed, number):
    n = Draft(f"random_{seed}_{number}")
    n.rng = np.random.RandomState([seed, number])
    n.opset = int(n.rng.randint(13, 18))
    KINDS[number % len(KINDS)](n)
    return n.finish()
