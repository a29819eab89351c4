"""The graph builder of the zoo: a Net writes one model node by node and tracks shapes and activation statistics."""

import math
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

F32 = np.float32
I64 = np.int64


class T:
    """A tensor in the graph: its name, static shape, and estimated mean and variance."""

    __slots__ = ("name", "shape", "mean", "var")

    def __init__(self, name, shape, mean=0.0, var=1.0):
        self.name = name
        self.shape = tuple(int(d) for d in shape)
        self.mean = mean
        self.var = var

    @property
    def ms(self):
        """Estimated mean square."""
        return self.mean * self.mean + self.var


def pair(v):
    return (v, v) if isinstance(v, int) else tuple(v)


def same_pads(in_hw, k, s):
    """TensorFlow SAME padding as ONNX pads [top, left, bottom, right]."""
    begin, end = [], []
    for n, kk, ss in zip(in_hw, k, s):
        total = max((math.ceil(n / ss) - 1) * ss + kk - n, 0)
        begin.append(total // 2)
        end.append(total - total // 2)
    return begin + end


def rectified(mean, var):
    """Mean and variance of max(x, 0) for a normal x."""
    sd = math.sqrt(var)
    z = mean / sd
    below = 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    m = mean * below + sd * density
    return m, (mean * mean + var) * below + mean * sd * density - m * m


class Net:
    """Builds one model node by node, tracking shapes and activation statistics."""

    def __init__(self, name, seed, opset=13):
        self.name = name
        self.opset = opset
        self.rng = np.random.RandomState((zlib.crc32(name.encode()) ^ seed) & 0xFFFFFFFF)
        self.nodes, self.inits, self.inputs, self.outputs = [], [], [], []
        self.declared = {}      # tensor name -> shape the builder believes in
        self.counts = {}        # op type -> number of nodes so far
        self.params = 0

    # -- plumbing ------------------------------------------------------------

    def _fresh(self, op):
        n = self.counts.get(op, 0)
        self.counts[op] = n + 1
        return op if n == 0 else "%s_%d" % (op, n)

    def node(self, op, inputs, shapes, mean=0.0, var=1.0, **attrs):
        """Add a node.  `shapes` is one shape, or a list of shapes for several
        outputs; a shape of None leaves that optional output out."""
        single = not isinstance(shapes, list)
        unique = self._fresh(op)
        names, results = [], []
        for i, shape in enumerate([shapes] if single else shapes):
            if shape is None:
                names.append("")
                results.append(None)
                continue
            t = T("/%s_output_%d" % (unique, i), shape, mean, var)
            self.declared[t.name] = t.shape
            names.append(t.name)
            results.append(t)
        inputs = [i.name if isinstance(i, T) else i for i in inputs]
        self.nodes.append(helper.make_node(op, inputs, names, name="/" + unique, **attrs))
        return results[0] if single else results

    def const(self, value, dtype=F32):
        """A Constant node, as exporters write shapes and scalars."""
        unique = self._fresh("Constant")
        name = "/%s_output_0" % unique
        tensor = numpy_helper.from_array(np.asarray(value, dtype=dtype), name="")
        self.nodes.append(helper.make_node("Constant", [], [name], name="/" + unique, value=tensor))
        return name

    def init(self, label, array):
        """An initializer (a weight)."""
        unique = self._fresh(label)
        array = np.ascontiguousarray(array)
        self.inits.append(numpy_helper.from_array(array, name=unique))
        if array.dtype == F32:
            self.params += array.size
        return unique

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        # The generator that the bench and the tests use is uniform on [-1, 1).
        return T(name, shape, 0.0, 1.0 / 3.0)

    def output(self, t, name):
        """Make `t`, which nothing consumes, a graph output called `name`."""
        for n in self.nodes:
            assert t.name not in n.input, "%s: an output that has consumers" % self.name
            for i, o in enumerate(n.output):
                if o == t.name:
                    n.output[i] = name
        self.declared[name] = self.declared.pop(t.name)
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, t.shape))

    def finish(self):
        """Check the model, and every declared shape against ONNX's own inference."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.inits)
        model = helper.make_model(graph, producer_name="make_zoo",
                                  opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 7
        onnx.checker.check_model(model)
        inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True,
                                                data_prop=True)
        found = {v.name: tuple(d.dim_value for d in v.type.tensor_type.shape.dim)
                 for v in list(inferred.graph.value_info) + list(inferred.graph.output)}
        for name, shape in self.declared.items():
            if found.get(name) != shape:
                raise AssertionError("%s: %s has shape %s, ONNX infers %s"
                                     % (self.name, name, shape, found.get(name)))
        return model

    # -- weights -------------------------------------------------------------

    def randn(self, shape, std=1.0):
        return (self.rng.standard_normal(shape) * std).astype(F32)

    def uniform(self, shape, lo, hi):
        return self.rng.uniform(lo, hi, shape).astype(F32)

    def filters(self, shape, std):
        """Random filters, output channel first.  With enough inputs, each has its mean
        removed and its norm set, so that the estimates of the statistics hold."""
        w = self.rng.standard_normal(shape).reshape(shape[0], -1)
        fan_in = w.shape[1]
        if fan_in > 9:
            w -= w.mean(axis=1, keepdims=True)
        w *= math.sqrt(fan_in) / np.linalg.norm(w, axis=1, keepdims=True)
        return (w * std).reshape(shape).astype(F32)

    # -- convolution and friends ---------------------------------------------

    def conv(self, x, cout, k, s=1, p=None, g=1, bias=False, same=False, unit=False):
        """Convolution.  The padding is p, or TensorFlow SAME, or k//2.  He-scaled
        (std = sqrt(2/fan_in)), or with unit=True scaled so that the output has
        variance 1, for convolutions that no BatchNormalization follows."""
        n, cin, h, w = x.shape
        k, s = pair(k), pair(s)
        if same:
            pads = same_pads((h, w), k, s)
        else:
            py, px = (k[0] // 2, k[1] // 2) if p is None else pair(p)
            pads = [py, px, py, px]
        fan_in = cin // g * k[0] * k[1]
        signal = x.var if fan_in > 9 else x.ms      # the mean is filtered out, if fan_in > 9
        std = math.sqrt(1.0 / (fan_in * signal)) if unit else math.sqrt(2.0 / fan_in)
        inputs = [x, self.init("conv.weight", self.filters((cout, cin // g) + k, std))]
        if bias:
            inputs.append(self.init("conv.bias", self.randn(cout, 0.1)))
        oh = (h + pads[0] + pads[2] - k[0]) // s[0] + 1
        ow = (w + pads[1] + pads[3] - k[1]) // s[1] + 1
        return self.node("Conv", inputs, (n, cout, oh, ow), 0.0, fan_in * std * std * signal,
                         dilations=[1, 1], group=g, kernel_shape=list(k), pads=pads,
                         strides=list(s))

    def bn(self, x, eps=1e-5, scale=1.0):
        """BatchNormalization whose output has a standard deviation of about `scale`."""
        c = x.shape[1]
        sd = math.sqrt(x.var)
        inputs = [x,
                  self.init("bn.weight", self.uniform(c, 0.7, 1.3) * F32(scale)),
                  self.init("bn.bias", self.randn(c, 0.2 * scale)),
                  self.init("bn.running_mean", self.randn(c, 0.2 * sd) + F32(x.mean)),
                  self.init("bn.running_var", self.uniform(c, 0.75, 1.35) * F32(x.var))]
        return self.node("BatchNormalization", inputs, x.shape, 0.0, 1.1 * scale * scale,
                         epsilon=eps, momentum=0.9)

    def maxpool(self, x, k, s, p=0, ceil=False):
        n, c, h, w = x.shape

        def size(d):
            span = d + 2 * p - k
            out = (-(-span // s) if ceil else span // s) + 1
            if ceil and (out - 1) * s >= d + p:     # a window may not start in the padding
                out -= 1
            return out

        return self.node("MaxPool", [x], (n, c, size(h), size(w)),
                         x.mean + 1.2 * math.sqrt(x.var), x.var,
                         ceil_mode=int(ceil), kernel_shape=[k, k], pads=[p] * 4, strides=[s, s])

    def gap(self, x):
        return self.node("GlobalAveragePool", [x], x.shape[:2] + (1, 1), x.mean, 0.15 * x.var)

    def flatten(self, x, axis=1):
        rows, cols = int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:]))
        return self.node("Flatten", [x], (rows, cols), x.mean, x.var, axis=axis)

    def upsample2(self, x):
        n, c, h, w = x.shape
        scales = self.const([1, 1, 2, 2])
        return self.node("Resize", [x, "", scales], (n, c, 2 * h, 2 * w), x.mean, x.var,
                         coordinate_transformation_mode="asymmetric", cubic_coeff_a=-0.75,
                         mode="nearest", nearest_mode="floor")

    # -- elementwise ---------------------------------------------------------

    def relu(self, x):
        return self.node("Relu", [x], x.shape, *rectified(x.mean, x.var))

    def relu6(self, x):
        lo, hi = self.const(0.0), self.const(6.0)
        return self.node("Clip", [x, lo, hi], x.shape, *rectified(x.mean, x.var))

    def sigmoid(self, x):
        return self.node("Sigmoid", [x], x.shape, 0.5, 0.045)

    def silu(self, x):
        gate = self.sigmoid(x)
        return self.node("Mul", [x, gate], x.shape, 0.2, 0.32)

    def hardsigmoid(self, x):
        return self.node("HardSigmoid", [x], x.shape, 0.5, 0.03, alpha=1.0 / 6.0, beta=0.5)

    def hardswish(self, x):
        """One op from opset 14 on; before, exporters write HardSigmoid and Mul."""
        if self.opset >= 14:
            return self.node("HardSwish", [x], x.shape, 0.16, 0.32)
        gate = self.hardsigmoid(x)
        return self.node("Mul", [x, gate], x.shape, 0.16, 0.32)

    def gelu(self, x):
        half = self.node("Div", [x, self.const(math.sqrt(2.0))], x.shape)
        erf = self.node("Erf", [half], x.shape)
        one = self.node("Add", [erf, self.const(1.0)], x.shape)
        prod = self.node("Mul", [x, one], x.shape)
        return self.node("Mul", [prod, self.const(0.5)], x.shape, 0.28, 0.35)

    def add(self, a, b):
        shape = np.broadcast_shapes(a.shape, b.shape)
        return self.node("Add", [a, b], shape, a.mean + b.mean, a.var + b.var)

    def softmax(self, x, axis=-1):
        return self.node("Softmax", [x], x.shape, 1.0 / x.shape[axis], 1.0 / x.shape[axis] ** 2,
                         axis=axis)

    # -- shape ---------------------------------------------------------------

    def concat(self, xs, axis=1):
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        mean = sum(x.mean for x in xs) / len(xs)
        ms = sum(x.ms for x in xs) / len(xs)
        return self.node("Concat", xs, tuple(shape), mean, ms - mean * mean, axis=axis)

    def reshape(self, x, shape):
        shape = list(shape)
        target = self.const(shape, I64)
        if -1 in shape:
            shape[shape.index(-1)] = int(np.prod(x.shape)) // -int(np.prod(shape))
        return self.node("Reshape", [x, target], tuple(shape), x.mean, x.var)

    def transpose(self, x, perm):
        shape = tuple(x.shape[p] for p in perm)
        return self.node("Transpose", [x], shape, x.mean, x.var, perm=list(perm))

    def pick(self, x, index, axis):
        """Gather with a scalar index: x[:, index] and the like."""
        shape = x.shape[:axis] + x.shape[axis + 1:]
        return self.node("Gather", [x, self.const(index, I64)], shape, x.mean, x.var, axis=axis)

    # -- linear layers and attention -----------------------------------------

    def gemm(self, x, cout, bias=True):
        """nn.Linear on a 2-D tensor."""
        cin = x.shape[1]
        std = math.sqrt(1.0 / (cin * (x.var if cin > 9 else x.ms)))
        inputs = [x, self.init("fc.weight", self.filters((cout, cin), std))]
        if bias:
            inputs.append(self.init("fc.bias", self.randn(cout, 0.1)))
        return self.node("Gemm", inputs, (x.shape[0], cout), 0.0, 1.0,
                         alpha=1.0, beta=1.0, transB=1)

    def linear(self, x, cout, gain=1.0):
        """nn.Linear on a tensor of more than two dimensions: MatMul, then Add."""
        cin = x.shape[-1]
        std = gain * math.sqrt(1.0 / (cin * x.var))
        w = self.init("linear.weight", self.filters((cout, cin), std).T)
        b = self.init("linear.bias", self.randn(cout, 0.05))
        y = self.node("MatMul", [x, w], x.shape[:-1] + (cout,))
        return self.node("Add", [b, y], y.shape, 0.0, gain * gain)

    def matmul(self, a, b, var=1.0):
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return self.node("MatMul", [a, b], tuple(batch) + (a.shape[-2], b.shape[-1]), 0.0, var)

    def layernorm(self, x, eps=1e-5):
        d = x.shape[-1]
        stat = x.shape[:-1] + (1,)
        mu = self.node("ReduceMean", [x], stat, axes=[-1], keepdims=1)
        diff = self.node("Sub", [x, mu], x.shape)
        square = self.node("Pow", [diff, self.const(2.0)], x.shape)
        var = self.node("ReduceMean", [square], stat, axes=[-1], keepdims=1)
        eps_sum = self.node("Add", [var, self.const(eps)], stat)
        sd = self.node("Sqrt", [eps_sum], stat)
        norm = self.node("Div", [diff, sd], x.shape)
        weight = self.init("ln.weight", self.uniform(d, 0.7, 1.3))
        scaled = self.node("Mul", [norm, weight], x.shape)
        return self.node("Add", [scaled, self.init("ln.bias", self.randn(d, 0.1))], x.shape,
                         0.0, 1.04)

    def attend(self, q, k_t, v, head_dim, mask=None):
        """softmax(q k_t / sqrt(head_dim) + mask) v, on [1, heads, seq, head_dim] tensors."""
        scores = self.matmul(q, k_t)
        scores = self.node("Div", [scores, self.const(math.sqrt(head_dim))], scores.shape)
        if mask is not None:
            scores = self.node("Add", [scores, mask], scores.shape)
        return self.matmul(self.softmax(scores), v, var=0.1)

    # -- finished pieces -----------------------------------------------------

    def classifier(self, x, classes, softmax=False):
        """Global average pool, Flatten, Gemm, and possibly Softmax."""
        y = self.gemm(self.flatten(self.gap(x)), classes)
        if softmax:
            self.output(self.softmax(y), "probabilities")
        else:
            self.output(y, "logits")

    def conv_bn(self, x, cout, k, s=1, act=None, scale=1.0, eps=1e-5, **kw):
        y = self.bn(self.conv(x, cout, k, s, **kw), eps, scale)
        return act(y) if act else y
