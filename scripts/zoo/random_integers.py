"""Random graphs of integers and truth values, where every result is exact: rounding, comparisons, selection, sorting,
indices that are computed, integer division, and casts between types.
"""
import numpy as np
from onnx import TensorProto

from .draft import I64
from .random_graphs import (MOST, NothingFits, Walk, broadcast, concat, count, expand, flatten, gather,
                            gather_elements, pad, reshape, slice_, split, squeeze, transpose)

I32 = np.int32
NUMBERS, ALL = (I64, I32), (I64, I32, bool)
ONNX_TYPES = {I64: TensorProto.INT64, I32: TensorProto.INT32, bool: TensorProto.BOOL}


class IntegerWalk(Walk):
    """Values have a type too; what an operator gives has that of its first input unless it says otherwise."""

    def __init__(self, draft):
        super().__init__(draft)
        self.types, self.last = {}, I64

    def any(self, fits=lambda shape: True, types=ALL):
        name = super().any(fits, types=types)
        self.last = self.types[name]
        return name

    def suits(self, name, types):
        return self.types[name] in types

    def add(self, shape, kind, *inputs, dtype=None, **attrs):
        name = super().add(shape, kind, *inputs, **attrs)
        self.types[name] = dtype or self.types[name]
        return name

    def put(self, name, shape, inputs):
        self.types[name] = next((self.types[i] for i in inputs if i in self.types), self.last)
        return super().put(name, shape, inputs)

    def of_one_type(self, a, b):
        return self.types[a] == self.types[b]

    def constant(self, dtype, *shape, low=-9, high=10):
        values = self.rng.randint(0, 2, shape) if dtype is bool else self.rng.randint(low, high, shape)
        return self.n.const(np.asarray(values).astype(dtype))

    def weights(self, *shape):
        return self.constant(self.last, *shape)

    def number(self, value):
        return self.n.const(np.asarray(round(4 * value)).astype(self.last))


def small(w, x, most=60):
    """Of a size that products stay far from overflow."""
    return w.add(w.shapes[x], "Mod", x, w.n.const(np.asarray(most).astype(w.types[x])))


def unary(w):
    x = w.any(types=NUMBERS)
    kind = w.pick("Abs", "Neg", "Sign", "Mod", "Clip", "Cast")
    shape, dtype = w.shapes[x], w.types[x]
    if kind == "Mod":
        divisor = w.n.const(np.asarray(w.pick(2, 3, 7, 16, -5)).astype(dtype))
        return w.add(shape, "Mod", x, divisor, fmod=int(w.rng.randint(2)))
    if kind == "Clip":
        bounds = w.n.const(np.asarray(-5).astype(dtype)), w.n.const(np.asarray(6).astype(dtype))
        return w.add(shape, "Clip", x, *w.pick(bounds, bounds[:1], ("", bounds[1])))
    if kind == "Cast":
        return cast(w, small(w, x), w.pick(I64, I32, bool))
    return w.add(shape, kind, x)


def cast(w, x, dtype):
    return w.add(w.shapes[x], "Cast", x, dtype=dtype, to=ONNX_TYPES[dtype])


def from_real(w):
    """By way of floats, which are exact for small numbers and one operation."""
    x = small(w, w.any(types=NUMBERS))
    shape = w.shapes[x]
    y = w.n.op("Mul", w.n.op("Cast", x, to=TensorProto.FLOAT), w.n.f(w.pick(0.5, 0.3, -1.5)))
    y = w.n.op(w.pick("Floor", "Ceil", "Round", "Identity", "Relu"), y)
    name = w.n.op("Cast", y, to=TensorProto.INT32)
    w.shapes[name], w.types[name] = shape, I32
    return name


def partner(w, x):
    shape, dtype = w.shapes[x], w.types[x]
    if w.rng.randint(2):
        try:
            other = w.any(lambda s: broadcast(s, shape) is not None, [dtype])
            return other, w.shapes[other]
        except NothingFits:
            pass
    keep = shape[w.rng.randint(len(shape) + 1):]
    small_shape = tuple(1 if w.rng.randint(3) == 0 else d for d in keep)
    return w.constant(dtype, *small_shape), small_shape


def binary(w):
    x = small(w, w.any(types=NUMBERS))
    y, other = partner(w, x)
    shape, dtype = broadcast(w.shapes[x], other), w.types[x]
    kind = w.pick("Add", "Sub", "Mul", "Min", "Max", "Div", "Mod", "Less", "Greater", "Equal", "LessOrEqual",
                  "GreaterOrEqual", "Where")
    if kind in ("Div", "Mod"):
        one = w.n.const(np.asarray(1).astype(dtype))
        w.types.setdefault(y, dtype)
        y = w.add(other, "Max", w.add(other, "Abs", y, dtype=dtype), one)
    if kind == "Where":
        mask = w.constant(bool, *shape[w.rng.randint(len(shape) + 1):])
        return w.add(shape, "Where", mask, x, y, dtype=dtype)
    return w.add(shape, kind, x, y, dtype=bool if kind.startswith(("Less", "Greater", "Equal")) else dtype)


def logic(w):
    x = w.any(types=[bool])
    if w.rng.randint(3) == 0:
        return w.add(w.shapes[x], "Not", x)
    y, other = partner(w, x)
    shape = broadcast(w.shapes[x], other)
    if w.rng.randint(3) == 0:
        try:
            z = w.any(lambda s: broadcast(s, shape) == shape, NUMBERS)
        except NothingFits:
            z = None
        if z:
            x = w.add(shape, "Or", x, y)
            return w.add(shape, "Where", x, z, w.n.const(np.asarray(3).astype(w.types[z])), dtype=w.types[z])
    return w.add(shape, w.pick("And", "Or", "Xor"), x, y)


def reduce(w):
    x = small(w, w.any(lambda s: len(s) > 0, NUMBERS), 3)
    shape = w.shapes[x]
    axes = sorted(w.rng.choice(len(shape), w.rng.randint(1, len(shape) + 1), replace=False).tolist())
    keep = int(w.rng.randint(2))
    result = [1 if i in axes else d for i, d in enumerate(shape) if keep or i not in axes]
    kind = w.pick("Sum", "Max", "Min", "Prod")
    if kind == "Sum":
        return w.add(result, "ReduceSum", x, w.n.ints(*axes), keepdims=keep)
    return w.add(result, "Reduce" + kind, x, axes=axes, keepdims=keep)


def selection(w):
    """Where the largest are; ties go to the first, or to the last where that is asked for."""
    x = w.any(lambda s: len(s) > 0, [I32])
    shape = w.shapes[x]
    axis = w.axis(len(shape))
    at = axis % len(shape)
    if w.rng.randint(2):
        keep = int(w.rng.randint(2))
        result = shape[:at] + ((1,) if keep else ()) + shape[at + 1:]
        return w.add(result, w.pick("ArgMax", "ArgMin"), x, dtype=I64, axis=axis, keepdims=keep,
                     select_last_index=int(w.rng.randint(2)))
    k = int(w.rng.randint(1, shape[at] + 1))
    values, places = w.n.op("TopK", x, w.n.ints(k), outs=2, axis=axis, largest=int(w.rng.randint(2)))
    w.used.add(x)
    for name, dtype in ((values, I32), (places, I64)):
        w.shapes[name], w.types[name] = shape[:at] + (k,) + shape[at + 1:], dtype
    return places


def running(w):
    x = small(w, w.any(lambda s: len(s) > 0, NUMBERS))
    shape = w.shapes[x]
    return w.add(shape, "CumSum", x, w.n.const(np.int64(w.axis(len(shape)))), exclusive=int(w.rng.randint(2)),
                 reverse=int(w.rng.randint(2)))


def computed_index(w):
    """Data at places that an integer says; all of them inside."""
    x = w.any(lambda s: len(s) > 0 and count(s) > 0)
    shape = w.shapes[x]
    at = int(w.rng.randint(len(shape)))
    index = w.any(lambda s: len(s) + len(shape) <= 6 and count(s) * count(shape) // shape[at] <= MOST, NUMBERS)
    place = w.add(w.shapes[index], "Mod", index, w.n.const(np.asarray(shape[at]).astype(w.types[index])))
    if w.rng.randint(4) == 0 and w.types[place] is I64 and w.shapes[place]:
        k = int(w.rng.randint(2, 6))
        return w.add(w.shapes[place] + (k,), "OneHot", place, w.n.ints(k), w.n.ints(2, 7), axis=-1)
    return w.add(shape[:at] + w.shapes[place] + shape[at + 1:], "Gather", x, place, dtype=w.types[x], axis=at)


def scatter(w):
    x = w.any(lambda s: len(s) > 0, NUMBERS)
    shape, dtype = w.shapes[x], w.types[x]
    at = int(w.rng.randint(len(shape)))
    part = [int(w.rng.randint(1, d + 1)) for d in shape]
    # Each line takes different places, or sums.
    if w.n.opset >= 16 and w.rng.randint(2):
        places, extra = w.rng.randint(-shape[at], shape[at], part), {"reduction": w.pick("add", "mul")}
    else:
        rows = [w.rng.permutation(shape[at])[:part[at]] for _ in range(count(part) // part[at])]
        places = np.moveaxis(np.array(rows).reshape(part[:at] + part[at + 1:] + [part[at]]), -1, at)
        extra = {}
    updates = w.constant(dtype, *part, low=-2, high=3)
    return w.add(shape, "ScatterElements", small(w, x), w.n.const(places.astype(I64)), updates, dtype=dtype, axis=at,
                 **extra)


def product(w):
    x = small(w, w.any(lambda s: len(s) > 0, NUMBERS))
    shape, m = w.shapes[x], w.size()
    if count(shape[:-1]) * m > MOST:
        raise NothingFits
    return w.add(shape[:-1] + (m,), "MatMul", x, w.constant(w.types[x], shape[-1], m))


MOVES = [transpose, reshape, squeeze, flatten, slice_, concat, split, pad, gather, gather_elements, expand]
TABLE = MOVES + [unary, unary, from_real, binary, binary, binary, binary, logic, logic, reduce, selection, selection,
                 running, computed_index, computed_index, scatter, product]


def random_integer_graph(n):
    w = IntegerWalk(n)
    for i in range(n.rng.randint(1, 4)):
        shape = tuple(w.size() for _ in range(w.pick(0, 1, 2, 3, 3, 4)))
        dtype = w.pick(I64, I32, I32, bool)
        name = n.input(f"x{i}", shape, ONNX_TYPES[dtype])
        w.shapes[name], w.types[name] = shape, dtype
    for _ in range(n.rng.randint(3, 25)):
        move = w.pick(*TABLE)
        try:
            move(w)
        except NothingFits:
            pass
    ends = [name for name in w.shapes if name not in w.used and name in w.types][-3:] or [list(w.shapes)[-1]]
    for i, name in enumerate(ends):
        n.output(name, f"y{i}", rank=len(w.shapes[name]), dtype=ONNX_TYPES[w.types[name]])
