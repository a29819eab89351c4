"""If, Loop and Scan with random bodies, for random graphs: bodies read values from outside, branches are chosen when
the model runs or before, loops carry a value and stack another, scans go along any axis in either direction.
"""
import numpy as np
from onnx import TensorProto, helper

from .draft import Draft
from .random_graphs import MOST, TABLE, NothingFits, Walk, count

FLOAT, LOOP_MOST = TensorProto.FLOAT, 4
SMALL = MOST // 50


class Body:
    """A graph inside a node. Its names begin with those of the node, because ONNX wants them unique."""

    def __init__(self, w, inputs):
        self.outer, self.draft = w, Draft(w.n.name, w.n.opset)
        self.draft.rng, self.draft.prefix = w.rng, f"{w.n.prefix}b{len(w.n.nodes)}_{w.rng.randint(1 << 30)}_"
        self.walk = Walk(self.draft)
        self.inputs = [(self.draft.prefix + name, shape) for name, shape in inputs]
        seen = {name: shape for name, shape in w.shapes.items() if count(shape) <= SMALL}
        self.walk.shapes = seen | dict(self.inputs)
        self.mine = len(seen)

    def wander(self, steps):
        """The last value made, or the last input."""
        for _ in range(steps):
            try:
                self.walk.pick(*TABLE)(self.walk)
            except NothingFits:
                pass
        return list(self.walk.shapes)[-1]

    def like(self, name, value):
        """Something of the shape of `name` that depends on both."""
        w, shape = self.walk, self.walk.shapes[name]
        if self.walk.shapes[value]:
            value = w.add((), "ReduceMean", value, keepdims=0)
        return w.add(shape, "Tanh", w.add(shape, "Add", name, value))

    def graph(self, results, extra_inputs=()):
        """`results` are pairs of name and shape."""
        self.outer.used |= self.walk.used
        ports = [helper.make_tensor_value_info(name, kind, ()) for name, kind in extra_inputs]
        ports += [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in self.inputs]
        outs = []
        for i, (name, shape) in enumerate(results):
            out = f"{self.draft.prefix}out{i}"
            self.draft.nodes.append(helper.make_node("Identity", [name], [out], name="/" + out))
            kind = TensorProto.BOOL if shape is None else FLOAT
            outs.append(helper.make_tensor_value_info(out, kind, shape or ()))
        return helper.make_graph(self.draft.nodes, self.draft.prefix + "body", ports, outs, self.draft.inits)


def branch(w):
    x = w.any(lambda s: count(s) <= SMALL)
    shape = w.shapes[x]
    if w.rng.randint(4) == 0:
        condition = w.n.const(np.asarray(bool(w.rng.randint(2))))
    else:
        largest = w.add((), "ReduceMax", x, keepdims=0) if shape else x
        condition = w.n.op("Greater", largest, w.n.f(w.pick(-0.31, 0.17, 0.63)))
        w.used.add(largest)
    graphs = []
    for _ in range(2):
        body = Body(w, [])
        graphs.append(body.graph([(body.like(x, body.wander(w.rng.randint(4))), shape)]))
    return w.add(shape, "If", condition, then_branch=graphs[0], else_branch=graphs[1])


def loop(w):
    x = w.any(lambda s: count(s) <= SMALL)
    shape, trips = w.shapes[x], int(w.rng.randint(1, LOOP_MOST + 1))
    body = Body(w, [("carried", shape)])
    number, goes_on = body.draft.prefix + "i", body.draft.prefix + "go"
    carried = body.inputs[0][0]
    place = body.walk.put(body.draft.op("Cast", number, to=FLOAT), (), [])
    made = body.wander(w.rng.randint(5))
    stacked = body.walk.shapes[made]
    body.walk.used.add(made)
    moved = body.like(carried, place)
    graph = body.graph([(goes_on, None), (body.like(moved, made), shape), (made, stacked)],
                       [(number, TensorProto.INT64), (goes_on, TensorProto.BOOL)])
    w.used.add(x)
    start = w.pick("", w.n.const(np.asarray(True)))
    final, scanned = w.n.op("Loop", w.n.const(np.int64(trips)), start, x, outs=2, body=graph)
    w.put(scanned, (trips,) + stacked, [])
    return w.put(final, shape, [])


def scan(w):
    x = w.any(lambda s: 1 <= len(s) <= 4 and count(s) <= SMALL)
    shape = w.shapes[x]
    at = int(w.rng.choice([i for i, d in enumerate(shape) if d <= 2 * LOOP_MOST] or [-1]))
    if at < 0:
        raise NothingFits
    part = shape[:at] + shape[at + 1:]
    state = w.weights(*part)
    body = Body(w, [("state", part), ("part", part)])
    (old, _), (piece, _) = body.inputs
    new = body.like(old, body.wander(w.rng.randint(4)))
    out = body.walk.add(part, "Sub", new, piece)
    graph = body.graph([(new, part), (out, part)])
    places = int(w.rng.randint(len(part) + 1))
    w.used.add(x)
    final, stacked = w.n.op("Scan", state, x, outs=2, body=graph, num_scan_inputs=1, scan_input_axes=[at],
                            scan_input_directions=[int(w.rng.randint(2))], scan_output_axes=[places],
                            scan_output_directions=[int(w.rng.randint(2))])
    w.put(stacked, part[:places] + (shape[at],) + part[places:], [])
    return w.put(final, part, [])


CONTROL = [branch, loop, scan]
