#!/usr/bin/python3
"""Models that are legal and unusual: names, outputs, functions, sizes of tensors and of files.

    odd_models.py --bin=DIR [--large=FOLDER]

Each is compiled and run on given inputs; names, shapes and values of the outputs must be as expected. With --large,
files at both of protobuf's limits are written to FOLDER too: 100 MB and 1.8 GB in one file, and 2.4 GB of external
data (each removed afterwards).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, I64 = np.float32, np.int64
X = np.arange(6, dtype=F32).reshape(2, 3) - 2.5


def port(name, array):
    kind = onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[np.asarray(array).dtype]
    return helper.make_tensor_value_info(name, kind, np.asarray(array).shape)


def model(nodes, inputs, outputs, weights=(), functions=(), opset=15):
    """`weights` are pairs of name and array, names may repeat."""
    graph = helper.make_graph(nodes, "odd", [port(n, a) for n, a in inputs.items()],
                              [onnx.ValueInfoProto(name=n) for n in outputs],
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in weights])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions))


def relu(x):
    return np.maximum(x, 0)


def outputs_of_all_kinds():
    """An input, a weight, one value twice, and a scalar."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Identity", ["r"], ["again"]),
             helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0)]
    return model(nodes, {"x": X}, ["x", "w", "r", "again", "total"], [("w", X + 1)]), {"x": X}, \
        {"x": X, "w": X + 1, "r": relu(X), "again": relu(X), "total": F32(X.sum())}


def nothing_but_an_input():
    return model([], {"x": X}, ["x"]), {"x": X}, {"x": X}


def odd_names():
    """Names with spaces, quotes, slashes, colons, and of other alphabets; nodes without names."""
    names = ["a b", "/c/d:0", "\"q'\\", "größe", "%e{f}", "int"]
    nodes = [helper.make_node("Relu" if i % 2 else "Neg", [a], [b]) for i, (a, b) in enumerate(zip(names, names[1:]))]
    want = X
    for i in range(len(names) - 1):
        want = relu(want) if i % 2 else -want
    return model(nodes, {names[0]: X}, [names[-1]]), {names[0]: X}, {names[-1]: want}


def scalars():
    nodes = [helper.make_node("Mul", ["s", "t"], ["u"]), helper.make_node("Add", ["u", "x"], ["y"]),
             helper.make_node("Max", ["u", "s"], ["z"])]
    s, t = F32(3), F32(-2)
    return model(nodes, {"s": s, "x": X}, ["y", "z"], [("t", t)]), {"s": s, "x": X}, {"y": X + s * t, "z": F32(3)}


def nothing_inside():
    """Dimensions of zero: through elementwise nodes, joined with something, and summed."""
    empty = np.zeros((0, 3), F32)
    nodes = [helper.make_node("Relu", ["e"], ["r"]), helper.make_node("Concat", ["r", "x"], ["y"], axis=0),
             helper.make_node("ReduceSum", ["e"], ["z"], keepdims=0), helper.make_node("MatMul", ["p", "e"], ["m"])]
    feeds = {"e": empty, "x": X, "p": np.zeros((2, 0), F32)}
    return model(nodes, feeds, ["r", "y", "z", "m"]), feeds, \
        {"r": empty, "y": X, "z": F32(0), "m": np.zeros((2, 3), F32)}


def weights_twice():
    """Equal weights of two names, two of one name (the last counts), and some that nothing reads."""
    weights = [("a", X), ("b", X), ("c", X - 1), ("c", X + 1), ("unused", X)]
    nodes = [helper.make_node("Sum", ["x", "a", "b", "c"], ["y"])]
    return model(nodes, {"x": X, "ignored": X}, ["y"], weights), {"x": X, "ignored": X}, {"y": 4 * X + 1}


def empty_optionals():
    """Inputs left out in the middle and at the end, an unused output with no name."""
    nodes = [helper.make_node("Clip", ["x", "", "high"], ["c"]), helper.make_node("Dropout", ["c", "", ""], ["d", ""])]
    return model(nodes, {"x": X}, ["d"], [("high", F32(1))]), {"x": X}, {"d": np.minimum(X, 1)}


def functions():
    """Local functions that call each other, hand attributes down, name values like the caller, and leave inputs out."""
    ops = [helper.make_opsetid("", 15), helper.make_opsetid("local", 1)]
    leaky = helper.make_node("LeakyRelu", ["x"], ["t"])
    slope = leaky.attribute.add()
    slope.name, slope.ref_attr_name, slope.type = "alpha", "slope", onnx.AttributeProto.FLOAT
    inner = helper.make_function("local", "Inner", ["x", "y"], ["z"],
                                 [leaky, helper.make_node("Sub", ["t", "y"], ["z"])], ops, ["slope"])
    call = helper.make_node("Inner", ["b", "a"], ["x"], domain="local")
    handed = call.attribute.add()
    handed.name, handed.ref_attr_name, handed.type = "slope", "leak", onnx.AttributeProto.FLOAT
    outer = helper.make_function("local", "Outer", ["a", "b"], ["x", "w"],
                                 [call, helper.make_node("Neg", ["x"], ["w"])], ops, ["leak"])
    nodes = [helper.make_node("Outer", ["x", "v"], ["y", "z"], domain="local", leak=0.5),
             helper.make_node("Outer", ["y", "x"], ["q", ""], domain="local", leak=2.0)]
    leak = lambda v, a: np.where(v < 0, a * v, v).astype(F32)
    v = X * 2
    y = leak(v, 0.5) - X
    return model(nodes, {"x": X, "v": v}, ["y", "z", "q"], functions=[inner, outer]), {"x": X, "v": v}, \
        {"y": y, "z": -y, "q": leak(X, 2) - y}


def branches():
    """If at run time, its branches reading values of the graph around under names that are used again inside."""
    info = helper.make_tensor_value_info
    def branch(name, op):
        body = [helper.make_node(op, ["r"], ["t"]), helper.make_node("Add", ["t", "x"], ["u"])]
        return helper.make_graph(body, name, [], [info("u", TensorProto.FLOAT, [2, 3])])
    nodes = [helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("If", ["c"], ["y"], then_branch=branch("then", "Neg"), else_branch=branch("else", "Abs")),
             helper.make_node("Neg", ["y"], ["u"])]
    feeds = {"x": X, "c": np.array(True)}
    return model(nodes, feeds, ["u"]), feeds, {"u": -(X - relu(X))}


def convolve(x, w):
    """Stride 1, no padding."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w).astype(F32)


def part_beside_nan():
    """A convolution reads some columns of what another one made; what lies beside them is not a number."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (1, 64, 58, 56)).astype(F32)
    beside = np.where(np.arange(56) < 23, 0, np.nan).astype(F32)
    first, second = ((rng.uniform(-1, 1, (64, 64, k, k)) / (8 * k)).astype(F32) for k in (1, 3))
    nodes = [helper.make_node("Conv", ["x", "first"], ["c"]), helper.make_node("Add", ["c", "beside"], ["whole"]),
             helper.make_node("Slice", ["whole", "start", "end", "axis"], ["part"]),
             helper.make_node("Conv", ["part", "second"], ["d"]), helper.make_node("Relu", ["d"], ["y"])]
    weights = [("first", first), ("second", second), ("beside", beside), ("start", I64([0])), ("end", I64([23])), ("axis", I64([3]))]
    return model(nodes, {"x": x}, ["y"], weights), {"x": x}, {"y": relu(convolve(convolve(x, first)[..., :23], second))}


def separable_with_one_tap():
    """A depthwise convolution of 1x1 before a 1x1 convolution: nothing keeps rows and columns apart."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (1, 64, 64, 64)).astype(F32)
    depthwise, pointwise = rng.uniform(-1, 1, (64, 1, 1, 1)).astype(F32), (rng.uniform(-1, 1, (32, 64, 1, 1)) / 8).astype(F32)
    bias = rng.uniform(-1, 1, 64).astype(F32)
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Conv", ["n", "d", "b"], ["c"], group=64),
             helper.make_node("Relu", ["c"], ["r"]), helper.make_node("Conv", ["r", "p"], ["y"])]
    middle = relu(-x * depthwise.reshape(1, 64, 1, 1) + bias.reshape(1, 64, 1, 1))
    return model(nodes, {"x": x}, ["y"], [("d", depthwise), ("p", pointwise), ("b", bias)]), {"x": x}, \
        {"y": convolve(middle, pointwise)}


CASES = [outputs_of_all_kinds, nothing_but_an_input, odd_names, scalars, nothing_inside, weights_twice, empty_optionals,
         functions, branches, part_beside_nan, separable_with_one_tap]


LARGE = [("inline_100_mb", 100_000, 1, False), ("inline_1_8_gb", 300_000, 6, False),
         ("external_2_4_gb", 300_000, 8, True)]


def saved(path, made, feeds, want):
    onnx.save(made, str(path))
    return feeds, want


def table(path, rows, count, external):
    """A model that looks up rows in `count` tables of 256 columns."""
    nodes, weights = [], []
    for i in range(count):
        w = np.zeros((rows, 256), F32)
        w[::7] = i + 1
        weights.append((f"w{i}", w))
        nodes.append(helper.make_node("Gather", [f"w{i}", "ids"], [f"g{i}"]))
    nodes.append(helper.make_node("Sum", [f"g{i}" for i in range(count)], ["y"]))
    ids = np.array([0, 1, 7, rows - 1], I64)
    made = model(nodes, {"ids": ids}, ["y"], weights)
    if external:
        onnx.save_model(made, str(path), save_as_external_data=True, location=path.name + ".data")
    else:
        onnx.save(made, str(path))
    total = count * (count + 1) / 2
    return {"ids": ids}, {"y": np.repeat(np.where(ids % 7 == 0, total, 0)[:, None], 256, 1).astype(F32)}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0].name} ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def file_name(name):
    """As mcc-run names files: bytes outside [A-Za-z0-9._-] become _."""
    return "".join(chr(b) if b < 128 and (chr(b).isalnum() or chr(b) in "._-") else "_" for b in name.encode()) + ".npy"


def check(bin_dir, path, folder, feeds, want):
    """What is wrong, or None."""
    out = folder / "out"
    try:
        run(bin_dir / "mcc-compile", path, "-o", out, "--threads=1", "--quiet")
        inputs = []
        for i, (name, array) in enumerate(feeds.items()):
            np.save(folder / f"in{i}.npy", array)
            inputs.append(f"--input={name}={folder / f'in{i}.npy'}")
        shown = json.loads(run(bin_dir / "mcc-run", out, "--json", "--repeat=1", f"--output={folder / 'npy'}", *inputs))
    except RuntimeError as error:
        return str(error)
    if [o["name"] for o in shown["outputs"]] != list(want):
        return f"outputs are {[o['name'] for o in shown['outputs']]}, not {list(want)}"
    for name, array in want.items():
        got = np.load(folder / "npy" / file_name(name))
        if got.shape != array.shape or got.dtype != array.dtype or not np.allclose(got, array, rtol=1e-6, atol=1e-5):
            return f"output {name} is {np.array2string(got, threshold=50)}, not {np.array2string(array, threshold=50)}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--large", type=pathlib.Path)
    args = parser.parse_args()
    jobs = [(case.__name__, lambda path, case=case: saved(path, *case())) for case in CASES]
    if args.large:
        jobs += [(name, lambda path, size=size: table(path, *size)) for name, *size in LARGE]
    failed = 0
    for name, write in jobs:
        with tempfile.TemporaryDirectory(dir=args.large) as scratch:
            folder = pathlib.Path(scratch)
            feeds, want = write(folder / f"{name}.onnx")
            wrong = check(args.bin, folder / f"{name}.onnx", folder, feeds, want)
        failed += wrong is not None
        print(f"{name:24} {wrong or 'ok'}", flush=True)
    print(f"odd models: {len(jobs) - failed} right, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
