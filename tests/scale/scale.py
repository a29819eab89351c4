#!/usr/bin/python3
"""Models of many nodes: compile without exhausting stack, memory or patience, and compute what the reference computes.

    scale.py --bin=DIR [--nodes=2000] [--only=NAME]... [--keep=DIR]

Each model has about that many nodes (networks of layers: that many layers divided by five) and one trait that makes a
compiler's work grow faster than the model: long chains, many readers of one value, one node with many inputs, many
constants, arithmetic on shapes. Each is imported, compiled for one thread and checked by mcc-verify. A line tells
processor seconds and peak memory of each; nothing is decided by time.
Exit status 1 when a command fails or an output is wrong.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32 = np.float32


class Model:
    """Nodes in order, each with one output."""

    def __init__(self, shape):
        self.nodes, self.inits, self.outputs = [], [], []
        self.shape = shape
        self.rng = np.random.RandomState(1)

    def node(self, op, *inputs, **attrs):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"n{len(self.nodes)}", **attrs))
        return name

    def const(self, array):
        name = f"c{len(self.inits)}"
        self.inits.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def number(self):
        return self.const(F32(self.rng.uniform(0.5, 1.5)))

    def weight(self, *shape, scale=1.0):
        return self.const((self.rng.standard_normal(shape) * scale).astype(F32))

    def save(self, path, outputs):
        ports = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
        source = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        graph = helper.make_graph(self.nodes, "scale", [source], ports, self.inits)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, str(path))


def elementwise(n):
    """One chain of elementwise nodes, which fuse."""
    m = Model([4, 64])
    v, ops = "x", ["Add", "Relu", "Mul", "Sigmoid", "Sub", "Tanh", "Max", "Neg"]
    for i in range(n):
        op = ops[i % len(ops)]
        v = m.node(op, v, m.number()) if op in ("Add", "Mul", "Sub", "Max") else m.node(op, v)
    return m, [v]


def rereading(n):
    """A chain where every node reads what went before twice: inlined, expressions would double with each."""
    m = Model([4, 64])
    v = "x"
    for i in range(n // 2):
        v = m.node("Mul", m.node("Sigmoid", v), v)
    return m, [v]


def residual(n):
    """A chain in which each node also reads the input."""
    m = Model([4, 64])
    v = "x"
    for i in range(n // 2):
        v = m.node("Tanh", m.node("Add", v, "x"))
    return m, [v]


def unfused(n):
    """A chain in which no two neighbours can be one kernel."""
    m = Model([8, 24])
    v = "x"
    for i in range(n):
        v = m.node("Softmax", v, axis=i % 2) if i % 3 else m.node("CumSum", v, m.const(np.int64(i % 2)))
    return m, [v]


def movement(n):
    """A chain of transpositions and slices between sums."""
    m = Model([12, 12])
    v = "x"
    for i in range(n // 3):
        v = m.node("Transpose", v, perm=[1, 0])
        v = m.node("Pad", v, m.const(np.array([0, i % 2, 0, 1 - i % 2], np.int64)))
        v = m.node("Slice", v, m.const(np.array([0, 1 - i % 2], np.int64)),
                   m.const(np.array([12, 13 - i % 2], np.int64)), m.const(np.array([0, 1], np.int64)))
        v = m.node("Softmax", v) if i % 8 == 7 else v
    return m, [v]


def slices(n):
    """A chain of slices, each a part of the one before, summed at the end of each hundred."""
    m = Model([4, n + 8])
    v = m.node("Softmax", "x")
    ends, axes = m.const(np.array([2 ** 40], np.int64)), m.const(np.array([1], np.int64))
    for i in range(n):
        v = m.node("Slice", v, m.const(np.array([1], np.int64)), ends, axes) if i % 100 else m.node("Relu", v)
    return m, [v]


def reshapes(n):
    """A chain of reshapes between elementwise nodes."""
    m = Model([4, 6])
    v = "x"
    for i in range(n // 2):
        v = m.node("Sin", m.node("Reshape", v, m.const(np.array([[24], [2, 3, 4], [4, 6]][i % 3], np.int64))))
    return m, [v]


def growing(n):
    """A dense block: each layer reads all that went before, joined."""
    m = Model([1, 4])
    v = "x"
    for i in range(n // 10):
        step = m.node("MatMul", v, m.weight(4 + 2 * i, 2, scale=(4 + 2 * i) ** -0.5))
        v = m.node("Concat", v, m.node("Relu", step), axis=1)
    return m, [v]


def loop(n):
    """A Loop whose iterations are known at compile time."""
    m = Model([4, 64])
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Tanh", ["s"], ["t"]),
         helper.make_node("Add", ["t", "x"], ["u"]), helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
         helper.make_node("Mul", ["u", "f"], ["r"])], "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("s", TensorProto.FLOAT, [4, 64])],
        [info("d", TensorProto.BOOL, []), info("r", TensorProto.FLOAT, [4, 64])])
    return m, [m.node("Loop", m.const(np.int64(n // 4)), "", "x", body=body)]


def wide(n):
    """Many nodes on one input, joined by one Concat and one Sum."""
    m = Model([1, 16])
    parts = [m.node("Mul", "x", m.number()) for _ in range(n // 2)]
    joined = m.node("Concat", *parts, axis=0)
    total = m.node("Sum", *[m.node("Add", "x", m.number()) for _ in range(n // 2)])
    return m, [joined, total]


def outputs(n):
    """Every node is an output of the model."""
    m = Model([1, 16])
    return m, [m.node("Add", "x", m.number()) for _ in range(n)]


def split(n):
    """One node with many outputs, and a tree that sums them."""
    m = Model([n, 4])
    names = [f"s{i}" for i in range(n)]
    m.nodes.append(helper.make_node("Split", ["x", m.const(np.ones(n, np.int64))], names, name="split", axis=0))
    while len(names) > 1:
        names = [m.node("Add", a, b) for a, b in zip(names[::2], names[1::2])] + names[len(names) & ~1:]
    return m, names


def shapes(n):
    """Arithmetic on the shape of the input, which ends as the target of a Reshape."""
    m = Model([6, 8])
    v, one = m.node("Shape", "x"), m.const(np.array([1, 1], np.int64))
    for i in range(n // 4):
        a = m.node("Gather", v, m.const(np.array([0], np.int64)))
        b = m.node("Gather", v, m.const(np.array([1], np.int64)))
        v = m.node("Concat", b, a, axis=0)
        v = m.node("Mul", v, one)
    return m, [m.node("Reshape", "x", v)]


def convolutions(n):
    """Layers of Conv and Relu."""
    m = Model([1, 8, 6, 6])
    v = "x"
    for i in range(n // 5):
        k = 3 if i % 2 else 1
        v = m.node("Conv", v, m.weight(8, 8, k, k, scale=(2 / (8 * k * k)) ** 0.5), m.weight(8), pads=[k // 2] * 4)
        v = m.node("Relu", v)
    return m, [v]


def transformer(n):
    """Layers of MatMul, Add and LayerNormalization, each around a residual."""
    m = Model([4, 32])
    v = "x"
    for i in range(n // 5):
        y = m.node("Add", m.node("MatMul", v, m.weight(32, 32, scale=32 ** -0.5)), m.weight(32, scale=0.1))
        v = m.node("LayerNormalization", m.node("Add", y, v), m.const(np.ones(32, F32)), m.const(np.zeros(32, F32)))
    return m, [v]


MODELS = {f.__name__: f for f in (elementwise, rereading, residual, unfused, movement, slices, reshapes, growing, loop,
                                  wide, outputs, split, shapes, convolutions, transformer)}


def timed(command):
    """(exit status, error text, processor seconds, peak MiB) of a command."""
    child = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, text.strip(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def check(name, nodes, bin_dir, folder):
    model, out = folder / f"{name}_{nodes}.onnx", folder / f"{name}_{nodes}.mcc"
    m, results = MODELS[name](nodes)
    m.save(model, results)
    commands = {"import": [bin_dir / "mcc-opt", "import", model],
                "compile": [bin_dir / "mcc-compile", model, "-o", out, "--threads=1", "--quiet"],
                "verify": [bin_dir / "mcc-verify", model, out]}
    text = f"{name:14}{len(m.nodes):7} nodes"
    for step, command in commands.items():
        status, error, seconds, peak = timed(command)
        text += f"  {step} {seconds:6.2f} s {peak:6.0f} MiB"
        if status != 0:
            print(f"{text}\n{name}: {step} ended with status {status}: {error[-400:]}", flush=True)
            return False
    print(text, flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--only", action="append", choices=list(MODELS))
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        ok = [check(name, args.nodes, args.bin, folder) for name in args.only or MODELS]
    return 0 if all(ok) else 1


if __name__ == "__main__":
    sys.exit(main())
