"""A plain graph builder: nodes by name, shapes left to ONNX's inference, and the layers that several networks share."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

F32, F16, I64 = np.float32, np.float16, np.int64


class Draft:
    """A model written node by node; names are all that is tracked."""

    def __init__(self, name, opset=13):
        self.name, self.opset, self.domains, self.prefix = name, opset, set(), ""
        self.rng = np.random.RandomState(sum(map(ord, name)))
        self.nodes, self.inits, self.inputs, self.outputs = [], [], [], []

    def op(self, kind, *inputs, outs=1, **attrs):
        names = [f"{self.prefix}{kind.lower()}_{len(self.nodes)}" + (f"_{i}" if outs > 1 else "") for i in range(outs)]
        inputs = [i if isinstance(i, str) else self.const(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"/{self.prefix}{kind}_{len(self.nodes)}",
                                           **attrs))
        return names[0] if outs == 1 else names

    def ms(self, kind, *inputs, outs=1, **attrs):
        """An operator of ONNX Runtime's own."""
        self.domains.add("com.microsoft")
        return self.op(kind, *inputs, outs=outs, domain="com.microsoft", **attrs)

    def ml(self, kind, *inputs, outs=1, **attrs):
        """An operator of classical models."""
        self.domains.add("ai.onnx.ml")
        return self.op(kind, *inputs, outs=outs, domain="ai.onnx.ml", **attrs)

    def const(self, value):
        name = f"{self.prefix}c{len(self.inits)}"
        self.inits.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def four_bits(self, *shape, signed=True):
        """Random INT4 or UINT4 (opset 21), two numbers a byte; the bindings for Python may not know them."""
        name, size = f"c{len(self.inits)}", -(-int(np.prod(shape)) // 2)
        self.inits.append(onnx.TensorProto(name=name, data_type=22 if signed else 21, dims=shape,
                                           raw_data=self.rng.randint(0, 256, size).astype(np.uint8).tobytes()))
        return name

    def ints(self, *values):
        return self.const(np.array(values, I64))

    def f(self, value):
        return self.const(F32(value))

    def w(self, *shape, fan=None, gain=1.0):
        """Random weights; by default scaled for sums over all dimensions but the first."""
        fan = fan or max(1, int(np.prod(shape[1:])))
        return self.const((self.rng.standard_normal(shape) * gain / np.sqrt(fan)).astype(F32))

    def near(self, *shape, at=1.0, spread=0.2):
        return self.const((at + spread * self.rng.uniform(-1, 1, shape)).astype(F32))

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value, name, rank=None, dtype=TensorProto.FLOAT):
        """`rank` and `dtype`: where ONNX cannot infer the shape."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"/out/{name}"))
        shape = None if rank is None else [f"{name}_{i}" for i in range(rank)]
        self.outputs.append((name, shape, dtype))

    def finish(self):
        ports = [onnx.ValueInfoProto(name=name) if shape is None else
                 helper.make_tensor_value_info(name, dtype, shape) for name, shape, dtype in self.outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, ports, self.inits)
        opsets = [helper.make_opsetid("", self.opset)] + [
            helper.make_opsetid(d, 3 if d == "ai.onnx.ml" else 1) for d in sorted(self.domains)]
        model = helper.make_model(graph, producer_name="make_zoo", opset_imports=opsets)
        model.ir_version = 7 if self.opset < 21 else 10 if self.opset < 23 else 11
        if self.opset > onnx.defs.onnx_opset_version() or "ai.onnx.ml" in self.domains:  # shapes are not inferred
            return model
        inferred = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        for port, found in zip(model.graph.output, inferred.graph.output):
            port.CopyFrom(found)
        onnx.checker.check_model(model)
        return model

    # -- layers ------------------------------------------------------------------------------------------------------

    def conv(self, x, cin, cout, k, s=1, g=1, d=1, bias=True, pad=None, rank=2, gain=1.4):
        k = [k] * rank if isinstance(k, int) else list(k)
        pad = [d * (n // 2) for n in k] * 2 if pad is None else pad
        inputs = [x, self.w(cout, cin // g, *k, gain=gain)] + ([self.w(cout, fan=100)] if bias else [])
        return self.op("Conv", *inputs, kernel_shape=k, strides=[s] * rank, pads=pad, group=g, dilations=[d] * rank)

    def bn(self, x, c):
        return self.op("BatchNormalization", x, self.near(c), self.near(c, at=0), self.near(c, at=0), self.near(c))

    def linear(self, x, cin, cout, gain=1.0):
        return self.op("Add", self.op("MatMul", x, self.w(cin, cout, fan=cin, gain=gain)), self.w(cout, fan=100))

    def relu(self, x):
        return self.op("Relu", x)

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def gelu(self, x):
        e = self.op("Erf", self.op("Div", x, self.f(2 ** 0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", e, self.f(1))), self.f(0.5))

    def layernorm(self, x, c, axes=(-1,)):
        mean = self.op("ReduceMean", x, axes=list(axes))
        diff = self.op("Sub", x, mean)
        var = self.op("ReduceMean", self.op("Pow", diff, self.f(2)), axes=list(axes))
        norm = self.op("Div", diff, self.op("Sqrt", self.op("Add", var, self.f(1e-5))))
        return self.op("Add", self.op("Mul", norm, self.near(c)), self.near(c, at=0))

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.ints(*shape))

    def heads(self, x, n, d):
        """[batch, seq, n*d] -> [batch, n, seq, d], the shape computed at run time."""
        lead = self.op("Slice", self.op("Shape", x), self.ints(0), self.ints(2))
        shape = self.op("Concat", lead, self.ints(n, d), axis=0)
        return self.op("Transpose", self.op("Reshape", x, shape), perm=[0, 2, 1, 3])

    def attention(self, q, k, v, d, bias=None):
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, self.f(d ** -0.5))
        if bias:
            scores = self.op("Add", scores, bias)
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        return self.op("Transpose", y, perm=[0, 2, 1, 3])
