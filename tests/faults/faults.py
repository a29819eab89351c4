"""What the fault tests share: a counter of checks, running a command with a time limit, a small model to be cruel to.

A fault test is a script `NAME.py --bin=DIR [--full]`; it prints a line for each failed check, ends with
`N passed, M failed`, and its exit status is 1 when M > 0.  Without --full it does a small part of the same, for every
test run.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DEFAULT_BIN = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}", flush=True)
        return ok

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)


class Done:
    """A finished command. status: its exit status, -N when signal N ended it, "hang" when the time limit did."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"status {self.status}, stderr {self.err[-400:]!r}"


def run(*command, limit=60, **options):
    command = [str(c) for c in command]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", **options)
    try:
        out, err = process.communicate(timeout=limit)
        return Done(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Done("hang", out, err)


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", type=pathlib.Path, default=DEFAULT_BIN, help="folder of mcc-tune, mcc-compile, ...")
    parser.add_argument("--full", action="store_true", help="everything, not the small part of each test run")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def small_model(path, channels=8):
    """Convolution, depthwise convolution, pooling, product, softmax: five or six tasks that compile in no time."""
    rng = np.random.default_rng(7)

    def weight(name, *shape):
        return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) * 0.3, name)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="depthwise", kernel_shape=[3, 3], strides=[2, 2],
                         pads=[1, 1, 1, 1], group=channels),
        helper.make_node("Relu", ["c2"], ["r2"], name="relu2"),
        helper.make_node("GlobalAveragePool", ["r2"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["g"], name="dense", transB=1),
        helper.make_node("Softmax", ["g"], ["y"], name="softmax", axis=1),
    ]
    weights = [weight("w1", channels, 3, 3, 3), weight("b1", channels), weight("w2", channels, 1, 3, 3),
               weight("w3", 10, channels), weight("b3", 10)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 12, 12])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 10])]
    model = helper.make_model(helper.make_graph(nodes, "small", inputs, outputs, weights),
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    pathlib.Path(path).write_bytes(model.SerializeToString())
    return ["--shape=x:1x3x12x12"]


def records(bin_folder, log):
    """All records of a log, in order; None when it does not open."""
    done = run(bin_folder / "mcc-log", "export", log)
    lines = [json.loads(line) for line in done.out.splitlines()] if done.status == 0 else None
    return lines and [line for line in lines if "kind" not in line]  # notes have a kind


def tree(folder):
    """Names of everything under a folder."""
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*"))
