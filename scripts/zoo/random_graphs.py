"""Random graphs: operators drawn from a table, each on values that earlier ones made, of all ranks, with broadcasts,
negative axes and steps, sizes of one, and parameters at their edges. Values stay small and no operator jumps (no
rounding, no comparison of computed numbers), so that any two right programs agree to a few last bits.
"""
import numpy as np

from .draft import I64

SIZES = [1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17]
MOST = 20000  # elements of a value


class NothingFits(Exception):
    """The operator drawn has nothing to work on; another is drawn."""


class Walk:
    """The draft, and the shapes of the values so far."""

    def __init__(self, draft):
        self.n, self.rng, self.shapes, self.used = draft, draft.rng, {}, set()

    def any(self, fits=lambda shape: True, **kind):
        """A value that fits, recent ones more often."""
        names = [name for name, shape in self.shapes.items() if fits(shape) and self.suits(name, **kind)]
        if not names:
            raise NothingFits
        at = max(self.rng.randint(len(names)), self.rng.randint(len(names)))
        return names[at]

    def pick(self, *choices):
        return choices[self.rng.randint(len(choices))]

    def axis(self, rank):
        """Counted from either end."""
        return int(self.rng.randint(-rank, rank))

    def size(self):
        return int(self.pick(*SIZES))

    def add(self, shape, kind, *inputs, **attrs):
        self.used.update(i for i in inputs if isinstance(i, str))
        return self.put(self.n.op(kind, *inputs, **attrs), shape, inputs)

    def put(self, name, shape, inputs):
        self.shapes[name] = tuple(int(d) for d in shape)
        return name

    def suits(self, name):
        return True

    def of_one_type(self, a, b):
        return True

    def weights(self, *shape):
        return self.n.near(*shape, at=0.0, spread=1.0)

    def number(self, value):
        return self.n.f(value)


def count(shape):
    return int(np.prod(shape, dtype=np.int64))


# --- one number each -------------------------------------------------------------------------------------------------

PLAIN = ["Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Elu", "LeakyRelu", "Selu", "Sin",
         "Cos", "HardSigmoid", "HardSwish", "Atan", "Identity", "Celu"]


def unary(w):
    x = w.any()
    shape = w.shapes[x]
    kind = w.pick("Clip", "Root", "Inverse", "Log", "Exp", *PLAIN)
    if kind == "HardSwish" and w.n.opset < 14:
        kind = "HardSigmoid"
    if kind == "Clip":
        return w.add(shape, "Clip", x, *w.pick([w.n.f(-0.4), w.n.f(0.6)], [w.n.f(-0.2)], ["", w.n.f(0.3)]))
    if kind in ("Root", "Inverse", "Log"):
        safe = w.add(shape, "Add", w.add(shape, "Abs", x), w.n.f(0.5))
        return w.add(shape, {"Root": "Sqrt", "Inverse": "Reciprocal", "Log": "Log"}[kind], safe)
    if kind == "Exp":
        return w.add(shape, "Exp", w.add(shape, "Tanh", x))
    return w.add(shape, kind, x)


def partner(w, shape):
    """Something that broadcasts with the shape: another value, or weights with ones and fewer dimensions."""
    if w.rng.randint(2):
        other = w.any(lambda s: broadcast(s, shape) is not None)
        return other, w.shapes[other]
    keep = shape[w.rng.randint(len(shape) + 1):]
    small = tuple(1 if w.rng.randint(3) == 0 else d for d in keep)
    return w.weights(*small), small


def broadcast(a, b):
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError:
        return None
    return shape if count(shape) <= MOST else None


def binary(w):
    x = w.any()
    shape = w.shapes[x]
    y, other = partner(w, shape)
    result = broadcast(shape, other)
    if result is None:
        raise NothingFits
    kind = w.pick("Add", "Sub", "Mul", "Max", "Min", "Div", "Pow", "PRelu", "Mean", "Where")
    if kind == "Div":
        y = w.add(other, "Add", w.add(other, "Abs", y), w.n.f(0.7))
    if kind == "Pow":
        x = w.add(shape, "Add", w.add(shape, "Abs", x), w.n.f(0.3))
        y = w.n.f(w.pick(2.0, 3.0, 0.5, -1.0, 1.3))
        return w.add(shape, "Pow", x, y)
    if kind == "PRelu" and broadcast(other, shape) != shape:
        kind = "Add"
    if kind == "Where":
        mask = w.n.const(w.rng.randint(0, 2, result[w.rng.randint(len(result) + 1):]).astype(bool))
        return w.add(result, "Where", mask, x, y)
    if kind == "Mean":
        return w.add(result, w.pick("Mean", "Sum", "Max"), x, y, x)
    pair = (y, x) if kind in ("Sub", "Add", "Mul") and w.rng.randint(3) == 0 else (x, y)
    return w.add(result, kind, *pair)


def calm(w):
    """Keeps values of the order of one."""
    x = w.any()
    return w.add(w.shapes[x], w.pick("Tanh", "Sigmoid", "Softsign"), x)


# --- along axes ------------------------------------------------------------------------------------------------------

def reduce(w):
    x = w.any(lambda s: len(s) > 0)
    shape = w.shapes[x]
    kind = w.pick("Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp", "Prod")
    axes = sorted(w.rng.choice(len(shape), w.rng.randint(1, len(shape) + 1), replace=False).tolist())
    keep = int(w.rng.randint(2))
    result = [1 if i in axes else d for i, d in enumerate(shape) if keep or i not in axes]
    written = [a - len(shape) if w.rng.randint(2) else a for a in axes]
    if kind == "Prod":
        x = w.add(shape, "Tanh", x)
    if kind == "Sum":
        return w.add(result, "ReduceSum", x, w.n.ints(*written), keepdims=keep)
    return w.add(result, "Reduce" + kind, x, axes=written, keepdims=keep)


def softmax(w):
    x = w.any(lambda s: len(s) > 0)
    shape = w.shapes[x]
    kind = w.pick("Softmax", "LogSoftmax", "CumSum", "LayerNormalization")
    axis = w.axis(len(shape))
    if kind == "CumSum":
        return w.add(shape, "CumSum", x, w.n.const(np.int64(axis)), exclusive=int(w.rng.randint(2)),
                     reverse=int(w.rng.randint(2)))
    if kind == "LayerNormalization":
        if w.n.opset < 17:
            raise NothingFits
        tail = shape[axis:]
        if count(tail) < 4:
            raise NothingFits
        bias = [w.weights(*tail)] if w.rng.randint(2) else []
        return w.add(shape, kind, x, w.n.near(*tail), *bias, axis=axis, epsilon=0.01)
    return w.add(shape, kind, x, axis=axis)


# --- movement --------------------------------------------------------------------------------------------------------

def transpose(w):
    x = w.any(lambda s: len(s) > 1)
    shape = w.shapes[x]
    perm = w.rng.permutation(len(shape)).tolist()
    return w.add([shape[p] for p in perm], "Transpose", x, perm=perm)


def reshape(w):
    x = w.any()
    shape = w.shapes[x]
    rest, result = count(shape), []
    while rest > 1 and len(result) < 5 and w.rng.randint(5):
        divisors = [d for d in range(1, rest + 1) if rest % d == 0]
        result.append(int(w.pick(*divisors)))
        rest //= result[-1]
    result += [rest] if rest > 1 or not result else []
    written = list(result)
    for i in range(min(len(shape), len(written))):
        if written[i] == shape[i] and w.rng.randint(2):
            written[i] = 0
    if w.rng.randint(2):
        written[w.rng.randint(len(written))] = -1
    return w.add(result, "Reshape", x, w.n.ints(*written))


def squeeze(w):
    x = w.any(lambda s: len(s) < 5)
    shape = list(w.shapes[x])
    ones = [i for i, d in enumerate(shape) if d == 1]
    if ones and w.rng.randint(2):
        gone = int(w.pick(*ones))
        return w.add(shape[:gone] + shape[gone + 1:], "Squeeze", x, w.n.ints(w.pick(gone, gone - len(shape))))
    at = int(w.rng.randint(len(shape) + 1))
    return w.add(shape[:at] + [1] + shape[at:], "Unsqueeze", x, w.n.ints(w.pick(at, at - len(shape) - 1)))


def flatten(w):
    x = w.any()
    shape = w.shapes[x]
    axis = int(w.rng.randint(-len(shape), len(shape) + 1))
    at = axis + len(shape) if axis < 0 else axis
    return w.add([count(shape[:at]), count(shape[at:])], "Flatten", x, axis=axis)


def slice_(w):
    x = w.any(lambda s: len(s) > 0)
    result = list(w.shapes[x])
    axes = w.rng.choice(len(result), w.rng.randint(1, len(result) + 1), replace=False).tolist()
    starts, ends, steps = [], [], []
    for a in axes:
        size = result[a]
        start = int(w.rng.randint(-size - 2, size + 3))
        end = int(w.pick(size, size + 5, 2**31 - 1, w.rng.randint(-size, size + 1)))
        step = int(w.pick(1, 1, 2, 3, -1, -2))
        if step < 0:
            start, end = int(w.pick(size - 1, size + 4, -1)), int(w.pick(-size - 1, -2**31, 0))
        length = len(range(size)[slice(start, end, step)])
        if length == 0:
            start, end, step, length = 0, size, 1, size
        starts, ends, steps = starts + [start], ends + [end], steps + [step]
        result[a] = length
    return w.add(result, "Slice", x, *[w.n.ints(*v) for v in (starts, ends, axes, steps)])


def concat(w):
    x = w.any(lambda s: len(s) > 0)
    shape = w.shapes[x]
    axis = w.axis(len(shape))
    at = axis % len(shape)
    rest = shape[:at] + shape[at + 1:]
    others = [name for name, s in w.shapes.items() if w.of_one_type(name, x) and len(s) == len(shape)
              and s[:at] + s[at + 1:] == rest and count(s) * 3 <= MOST]
    parts = [x] + [w.pick(*others) for _ in range(w.rng.randint(0, 3)) if others]
    sizes = [w.shapes[p][at] for p in parts]
    if len(parts) == 1 or w.rng.randint(3) == 0:
        extra = shape[:at] + (w.size(),) + shape[at + 1:]
        if count(extra) > MOST:
            raise NothingFits
        parts.insert(int(w.rng.randint(len(parts) + 1)), w.weights(*extra))
        sizes.append(extra[at])
    return w.add(shape[:at] + (sum(sizes),) + shape[at + 1:], "Concat", *parts, axis=axis)


def split(w):
    x = w.any(lambda s: len(s) > 0 and max(s) > 1)
    shape = list(w.shapes[x])
    at = int(w.pick(*[i for i, d in enumerate(shape) if d > 1]))
    first = int(w.rng.randint(1, shape[at]))
    names = w.n.op("Split", x, w.n.ints(first, shape[at] - first), outs=2, axis=w.pick(at, at - len(shape)))
    w.used.add(x)
    for name, size in zip(names, (first, shape[at] - first)):
        w.put(name, shape[:at] + [size] + shape[at + 1:], [x])
    return names[0]


def pad(w):
    x = w.any(lambda s: 0 < len(s) < 5)
    shape, mode = w.shapes[x], w.pick("constant", "edge", "reflect")
    if mode != "constant" and (len(shape) < 2 or min(shape) < 2):
        mode = "constant"
    most = [min(2, d - 1) if mode == "reflect" else 2 for d in shape]
    sides = [int(w.rng.randint(0, m + 1)) for m in most + most]
    result = [d + sides[i] + sides[i + len(shape)] for i, d in enumerate(shape)]
    if count(result) > MOST:
        raise NothingFits
    value = [w.number(0.25)] if mode == "constant" and w.rng.randint(2) else []
    return w.add(result, "Pad", x, w.n.ints(*sides), *value, mode=mode)


def gather(w):
    x = w.any(lambda s: len(s) > 0)
    shape = w.shapes[x]
    axis = w.axis(len(shape))
    at = axis % len(shape)
    wanted = w.pick((), (1,), (3,), (2, 3))
    result = shape[:at] + wanted + shape[at + 1:]
    if count(result) > MOST or len(result) > 6:
        raise NothingFits
    indices = w.rng.randint(-shape[at], shape[at], wanted)
    return w.add(result, "Gather", x, w.n.const(np.asarray(indices, I64)), axis=axis)


def gather_elements(w):
    x = w.any(lambda s: len(s) > 0)
    shape = list(w.shapes[x])
    at = int(w.rng.randint(len(shape)))
    result = list(shape)
    result[at] = int(w.rng.randint(1, 5))
    if count(result) > MOST:
        raise NothingFits
    indices = w.rng.randint(-shape[at], shape[at], result).astype(I64)
    return w.add(result, "GatherElements", x, w.n.const(indices), axis=at)


def expand(w):
    x = w.any(lambda s: len(s) < 5)
    shape = w.shapes[x]
    target = tuple(w.size() if d == 1 and w.rng.randint(2) else d for d in shape)
    target = (int(w.rng.randint(1, 4)),) * int(w.rng.randint(2)) + target
    if count(target) > MOST:
        raise NothingFits
    if w.rng.randint(2) or len(target) != len(shape):
        return w.add(target, "Expand", x, w.n.ints(*target))
    repeats = [int(w.rng.randint(1, 3)) for _ in shape]
    result = [d * r for d, r in zip(shape, repeats)]
    if count(result) > MOST or not shape:
        raise NothingFits
    return w.add(result, "Tile", x, w.n.ints(*repeats))


def depth(w):
    x = w.any(lambda s: len(s) == 4 and (s[1] % 4 == 0 or (s[2] % 2 == 0 and s[3] % 2 == 0)))
    b, c, h, v = w.shapes[x]
    if c % 4 == 0:
        return w.add((b, c // 4, h * 2, v * 2), "DepthToSpace", x, blocksize=2, mode=w.pick("DCR", "CRD"))
    return w.add((b, c * 4, h // 2, v // 2), "SpaceToDepth", x, blocksize=2)


def resize(w):
    x = w.any(lambda s: len(s) == 4 and s[2] > 1 and s[3] > 1)
    b, c, h, v = w.shapes[x]
    mode = w.pick("nearest", "linear", "cubic")
    place = w.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    if mode == "nearest":
        place = "asymmetric"  # elsewhere halves round by the last bit
    target = [b, c, int(w.rng.randint(1, 2 * h + 1)), int(w.rng.randint(1, 2 * v + 1))]
    if mode != "nearest":
        target[2], target[3] = max(2, target[2]), max(2, target[3])
    else:
        target[2], target[3] = h * 2, v * w.pick(1, 2, 4)
    if count(target) > MOST:
        raise NothingFits
    extra = {"nearest_mode": "floor"} if mode == "nearest" else {}
    return w.add(target, "Resize", x, "", "", w.n.ints(*target), mode=mode, coordinate_transformation_mode=place,
                 **extra)


# --- products and windows --------------------------------------------------------------------------------------------

def matmul(w):
    x = w.any(lambda s: len(s) > 0 and count(s) > 1)
    shape = w.shapes[x]
    k, m = shape[-1], w.size()
    if w.rng.randint(4) == 0 and len(shape) >= 2:  # with itself, turned
        perm = list(range(len(shape) - 2)) + [len(shape) - 1, len(shape) - 2]
        turned = w.add([shape[p] for p in perm], "Transpose", x, perm=perm)
        if count(shape[:-1]) * shape[-2] > MOST:
            raise NothingFits
        return w.add(shape[:-1] + (shape[-2],), "MatMul", w.add(shape, "Tanh", x), turned)
    if w.rng.randint(4) == 0:
        return w.add(shape[:-1], "MatMul", x, w.n.w(k, fan=k))
    batch = tuple(w.pick(1, d) for d in shape[:-2])[w.rng.randint(0, max(1, len(shape) - 1)):]
    result = shape[:-1] + (m,)
    if count(result) > MOST:
        raise NothingFits
    return w.add(result, "MatMul", x, w.n.w(*batch, k, m, fan=k))


def gemm(w):
    x = w.any(lambda s: len(s) == 2)
    a, b = int(w.rng.randint(2)), int(w.rng.randint(2))
    rows, k = w.shapes[x][::-1] if a else w.shapes[x]
    columns = w.size()
    c = w.pick((), (1,), (columns,), (rows, 1), (rows, columns), None)
    bias = [] if c is None else [w.weights(*c)]
    weights = w.n.w(*((columns, k) if b else (k, columns)), fan=k)
    return w.add((rows, columns), "Gemm", x, weights, *bias, transA=a, transB=b, alpha=w.pick(1.0, 0.5),
                 beta=w.pick(1.0, 0.25))


def window(w):
    x = w.any(lambda s: 3 <= len(s) <= 5 and min(s[2:]) >= 2)
    shape = w.shapes[x]
    rank, channels = len(shape) - 2, shape[1]
    kernel = [int(w.rng.randint(1, min(4, d + 1))) for d in shape[2:]]
    strides = [int(w.rng.randint(1, k + 1)) for k in kernel]
    pads = [int(w.rng.randint(0, k)) for k in kernel + kernel]
    places = [(d + pads[i] + pads[i + rank] - kernel[i]) // strides[i] + 1 for i, d in enumerate(shape[2:])]
    common = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    kind = w.pick("Conv", "Conv", "ConvTranspose", "MaxPool", "AveragePool")
    if kind == "AveragePool":
        common["count_include_pad"] = int(w.rng.randint(2))
    if kind.endswith("Pool"):
        return w.add(shape[:2] + tuple(places), kind, x, **common)
    group = w.pick(1, channels, *[g for g in (2, 4) if channels % g == 0])
    out = group * int(w.rng.randint(1, 9)) if group < channels or channels == 1 else channels
    bias = [w.weights(out)] if w.rng.randint(2) else []
    if kind == "Conv":
        result = (shape[0], out) + tuple(places)
        inputs = [w.n.w(out, channels // group, *kernel)]
    else:
        result = (shape[0], out) + tuple((d - 1) * strides[i] + kernel[i] - pads[i] - pads[i + rank]
                                         for i, d in enumerate(shape[2:]))
        inputs = [w.n.w(channels, out // group, *kernel, fan=channels // group)]
    if min(result) < 1 or count(result) > MOST:
        raise NothingFits
    return w.add(result, kind, x, *inputs, *bias, group=group, **common)


def whole_image(w):
    x = w.any(lambda s: 3 <= len(s) <= 5)
    shape = w.shapes[x]
    kind = w.pick("GlobalAveragePool", "GlobalMaxPool", "BatchNormalization", "InstanceNormalization", "LRN")
    if kind == "LRN" and len(shape) != 4:
        raise NothingFits
    c = shape[1]
    if kind == "BatchNormalization":
        return w.add(shape, kind, x, w.n.near(c), w.weights(c), w.weights(c), w.n.near(c), epsilon=0.01)
    if kind == "InstanceNormalization":
        if count(shape[2:]) < 4:
            raise NothingFits
        return w.add(shape, kind, x, w.n.near(c), w.weights(c), epsilon=0.01)
    if kind == "LRN":
        return w.add(shape, kind, x, size=w.pick(1, 3, 5), alpha=0.1, beta=0.6)
    return w.add(shape[:2] + (1,) * (len(shape) - 2), kind, x)


TABLE = [unary, unary, binary, binary, binary, calm, reduce, softmax, transpose, transpose, reshape, reshape, squeeze,
         flatten, slice_, concat, concat, split, pad, gather, gather_elements, expand, depth, resize, matmul, matmul,
         gemm, window, window, window, whole_image]


def random_graph(n, table=tuple(TABLE)):
    w = Walk(n)
    for i in range(n.rng.randint(1, 4)):
        shape = [w.size() for _ in range(w.pick(0, 1, 2, 3, 3, 4, 4, 4, 5))]
        while count(shape) > MOST // 4:
            shape[w.rng.randint(len(shape))] = 2
        w.shapes[w.n.input(f"x{i}", shape)] = tuple(shape)
    for _ in range(n.rng.randint(3, 25)):
        try:
            w.pick(*table)(w)
        except NothingFits:
            pass
    ends = [name for name in w.shapes if name not in w.used][-3:] or [list(w.shapes)[-1]]
    for i, name in enumerate(ends):
        n.output(name, f"y{i}", rank=len(w.shapes[name]))
