#!/usr/bin/python3
"""The claims of docs/NUMERICS.md: special values through compiled models, three ways.

    numerics.py --bin=DIR [--only=NAME]

A check is a node or two, its inputs and the exact outputs; a claim of the page names its checks in backquotes, and a
check that the page does not name, or the other way round, is an error. All checks are one model. It is compiled with
default and with strict numerics and run, and once imported with all inputs bound, so that the references compute it.
Zeros are compared with their sign.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "NUMERICS.md"
F32, F64, F16, I64, I32 = np.float32, np.float64, np.float16, np.int64, np.int32
INF, NAN = np.inf, np.nan
TINY = F32(1e-40)
CHECKS = {}


def f32(*values):
    return np.array(values, F32)


class Check:
    """Nodes over inputs a, b, c; `want` is what the last node's outputs must be."""

    def __init__(self, name, inputs, want, *nodes, within=0.0, repeat=0, ways=("default", "strict", "reference")):
        self.inputs = [np.asarray(i) for i in inputs]
        self.want = [np.asarray(w) for w in (want if isinstance(want, list) else [want])]
        if repeat:  # long enough for vectors and a remainder
            self.inputs = [np.tile(i, repeat) if i.ndim == 1 else i for i in self.inputs]
            self.want = [np.tile(w, repeat) for w in self.want]
        self.nodes, self.within, self.ways = nodes, within, ways
        assert name not in CHECKS, name
        CHECKS[name] = self


def node(op, inputs="a", outputs="y", **attrs):
    return op, list(inputs), list(outputs), attrs


def unary(name, op, x, want, within=0.0, **attrs):
    Check(name, [f32(*x)], f32(*want), node(op, **attrs), within=within, repeat=7)


def binary(name, op, a, b, want, dtype=F32, out=None, **attrs):
    Check(name, [np.array(a, dtype), np.array(b, dtype)], np.array(want, out or dtype), node(op, "ab", **attrs),
          repeat=7)


# -- NaN and infinity, elementwise
OF_A_HALF = {
    "Relu": .5, "LeakyRelu": .5, "Elu": .5, "Selu": 0.52535051, "Celu": .5, "HardSigmoid": .6, "HardSwish": 0.29166666,
    "Sigmoid": 0.62245935, "Tanh": 0.46211717, "Erf": 0.52049989, "Exp": 1.6487213, "Log": -0.6931472,
    "Sqrt": 0.70710677, "Abs": .5, "Neg": -.5, "Ceil": 1, "Floor": 0, "Round": 0, "Sin": 0.47942555, "Cos": 0.87758255,
    "Softplus": 0.974077, "Softsign": 0.33333334, "Reciprocal": 2, "Sign": 1}
for op, value in OF_A_HALF.items():
    unary(f"nan_{op.lower()}", op, [NAN, 0.5], [NAN, value], within=1e-6)
unary("infinite_sigmoid", "Sigmoid", [INF, -INF], [1, 0])
unary("infinite_tanh", "Tanh", [INF, -INF], [1, -1])
unary("infinite_erf", "Erf", [INF, -INF], [1, -1])
unary("infinite_exp", "Exp", [INF, -INF, 89], [INF, 0, INF])
unary("infinite_log", "Log", [0, -1, INF], [-INF, NAN, INF])
unary("infinite_sqrt", "Sqrt", [INF, -1, -INF], [INF, NAN, NAN])
unary("infinite_relu", "Relu", [INF, -INF], [INF, 0])
unary("infinite_elu", "Elu", [INF, -INF], [INF, -1])
unary("infinite_softplus", "Softplus", [INF, -INF, 1000, -1000], [INF, 0, 1000, 0])
unary("infinite_hardswish", "HardSwish", [INF, -INF], [INF, NAN])
unary("infinite_softsign", "Softsign", [INF, -INF], [NAN, NAN])
Check("infinite_silu", [f32(INF, -INF)], f32(INF, NAN), node("Sigmoid", "a", "s"), node("Mul", "as"), repeat=7)
unary("thresholded_nan", "ThresholdedRelu", [NAN, 2, .5], [0, 2, 0], alpha=1.0)
unary("shrink_nan", "Shrink", [NAN, 2], [0, 1.5], lambd=1.0, bias=0.5)
binary("max_nan", "Max", [NAN, 1, NAN, 2], [1, NAN, NAN, 1], [NAN, NAN, NAN, 2])
binary("min_nan", "Min", [NAN, 1, NAN, 2], [1, NAN, NAN, 1], [NAN, NAN, NAN, 1])
Check("clip_nan", [f32(NAN, INF, -INF, 3), F32(-1), F32(2)], f32(NAN, 2, -1, 2), node("Clip", "abc"), repeat=7)
Check("clip_crossed", [f32(0, 5), F32(3), F32(1)], f32(1, 1), node("Clip", "abc"), repeat=7)
binary("divide_by_zero", "Div", [1, -1, 0, 1], [0, 0, 0, -0.0], [INF, -INF, NAN, -INF])
binary("power_corners", "Pow", [0, NAN, INF, -8, 2, -2], [0, 0, 0, 1 / 3, -INF, 3], [1, 1, 1, NAN, 0, -8])
binary("compare_nan", "Less", [NAN, 1, 1], [1, NAN, 2], [0, 0, 1], out=bool)
binary("compare_nan_equal", "Equal", [NAN, INF, -0.0], [NAN, INF, 0], [0, 1, 1], out=bool)
binary("compare_nan_greater_or_equal", "GreaterOrEqual", [NAN, 2], [1, 2], [0, 1], out=bool)
Check("is_nan", [f32(NAN, INF, 1)], np.array([1, 0, 0], bool), node("IsNaN"), repeat=7)
Check("is_inf", [f32(NAN, INF, -INF)], np.array([0, 1, 1], bool), node("IsInf"), repeat=7)
Check("is_inf_positive", [f32(INF, -INF)], np.array([1, 0], bool), node("IsInf", detect_negative=0), repeat=7)
Check("where_takes_one", [np.array([1, 0], bool), f32(1, NAN), f32(NAN, 2)], f32(1, 2), node("Where", "abc"), repeat=7)
Check("times_zero", [f32(NAN, INF, 2)], f32(NAN, NAN, 0), node("Constant", "", "z", value_float=0.0), node("Mul", "az"),
      repeat=7)
Check("minus_itself", [f32(NAN, INF, 2)], f32(NAN, NAN, 0), node("Sub", "aa"), repeat=7)
Check("over_itself", [f32(NAN, INF, 0, 2)], f32(NAN, NAN, NAN, 1), node("Div", "aa"), repeat=7)
Check("power_half", [f32(-INF, 4, -1)], f32(INF, 2, NAN), node("Constant", "", "z", value_float=0.5), node("Pow", "az"),
      repeat=7)
Check("subnormal", [f32(TINY, 1)], f32(F32(TINY) * F32(3), 3), node("Constant", "", "z", value_float=3.0),
      node("Mul", "az"), repeat=7)

# -- signed zero
for op in ("Neg", "Sin", "Tan", "Tanh", "Sinh", "Asin", "Atan", "Erf", "Sqrt", "Floor", "Ceil", "Round", "Identity"):
    unary(f"zero_{op.lower()}", op, [0.0, -0.0], [-0.0, 0.0] if op == "Neg" else [0.0, -0.0])
unary("zero_abs", "Abs", [0.0, -0.0], [0.0, 0.0])
unary("zero_reciprocal", "Reciprocal", [0.0, -0.0], [INF, -INF])
unary("zero_rounded", "Round", [-0.5, -0.2, 0.5], [-0.0, -0.0, 0.0])
unary("zero_ceil_up", "Ceil", [-0.5], [-0.0])
binary("zero_times", "Mul", [0, 0, -0.0], [1, -1, -2], [0.0, -0.0, 0.0])
binary("zero_sum", "Add", [-0.0, 0.0], [-0.0, -0.0], [-0.0, 0.0])

Check("zero_plus_nothing", [f32(-0.0, 0.0)], f32(-0.0, 0.0), node("Constant", "", "z", value_float=0.0),
      node("Add", "az"), repeat=7, ways=("default", "strict"))

# -- rounding and conversions
unary("round_half_even", "Round", [0.5, 1.5, 2.5, -1.5, -2.5], [0, 2, 2, -2, -2])


def cast(name, x, to, want):
    Check(name, [np.asarray(x)], want, node("Cast", to=helper.np_dtype_to_tensor_dtype(want.dtype)
                                            if hasattr(helper, "np_dtype_to_tensor_dtype")
                                            else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[want.dtype]), repeat=7)


cast("cast_truncates", f32(1.9, -1.9), I32, np.array([1, -1], I32))
cast("cast_saturates", f32(1e20, -1e20, INF, -INF, 3e9), I32,
     np.array([2 ** 31 - 1, -2 ** 31, 2 ** 31 - 1, -2 ** 31, 2 ** 31 - 1], I32))
cast("cast_saturates_bytes", f32(300, -1, 255.9), np.uint8, np.array([255, 0, 255], np.uint8))
cast("cast_nan", f32(NAN, 1), I32, np.array([0, 1], I32))
cast("cast_bool", f32(NAN, 0.1, 0, -0.0), bool, np.array([1, 1, 0, 0], bool))
cast("cast_wraps", np.array([300, -1, 2 ** 40 + 5], I64), np.uint8, np.array([44, 255, 5], np.uint8))
cast("cast_half", f32(65504, 65520, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 2 ** -25, NAN), F16,
     np.array([65504, INF, 1, 1 + 2 ** -9, 0, NAN], F16))
cast("cast_double", np.array([1e300, 1 + 2 ** -24, 1 + 3 * 2 ** -24], F64), F32, f32(INF, 1, 1 + 2 ** -22))
cast("cast_large_integer", np.array([2 ** 24 + 1, 2 ** 24 + 3], I64), F32, f32(2 ** 24, 2 ** 24 + 4))
Check("half_steps", [np.array([60000, 1], F16)], np.array([INF, 1], F16), node("Add", "aa", "s"), node("Sub", "sa"),
      repeat=7)

Check("divide_by_constant", [f32(1, 7, -5, 1e-38)], f32(1, 7, -5, 1e-38) / F32(3),
      node("Constant", "", "z", value_float=3.0), node("Div", "az"), within=1.2e-7, repeat=7)

# -- integers
LOW, HIGH = -2 ** 31, 2 ** 31 - 1
binary("integer_wraps_sum", "Add", [HIGH, LOW], [1, -1], [LOW, HIGH], I32)
binary("integer_wraps_difference", "Sub", [LOW, HIGH], [1, -1], [HIGH, LOW], I32)
binary("integer_wraps_product", "Mul", [65536, HIGH], [65536, 2], [0, -2], I32)
binary("integer_wraps_bytes", "Add", [200, 255], [100, 1], [44, 0], np.uint8)
Check("integer_wraps_sign", [np.array([LOW, 5], I32)], np.array([LOW, -5], I32), node("Neg"), repeat=7)
Check("integer_wraps_absolute", [np.array([LOW, -5], I32)], np.array([LOW, 5], I32), node("Abs"), repeat=7)
binary("integer_division", "Div", [7, -7, 7, -7], [2, 2, -2, -2], [3, -3, -3, 3], I32)
binary("integer_division_by_zero", "Div", [7, -7, 0], [0, 0, 0], [0, 0, 0], I32)
binary("integer_division_wraps", "Div", [LOW, 6], [-1, -1], [LOW, -6], I32)
binary("integer_division_unsigned", "Div", [200, 7], [7, 0], [28, 0], np.uint8)
binary("integer_remainder", "Mod", [7, -7, 7, -7], [3, 3, -3, -3], [1, 2, -2, -1], I32)
binary("integer_remainder_fmod", "Mod", [7, -7, 7, -7], [3, 3, -3, -3], [1, -1, 1, -1], I32, fmod=1)
binary("integer_remainder_by_zero", "Mod", [7, -7], [0, 0], [7, -7], I32)
binary("integer_power", "Pow", [2, 3, 2, -2], [10, 4, 40, 3], [1024, 81, HIGH, -8], I32)
binary("shift_beyond", "BitShift", [1, 255, 3], [8, 200, 1], [0, 0, 6], np.uint8, direction="LEFT")
Check("integer_sum_wraps", [np.array([[HIGH, 1, 0]], I32)], I32(LOW),
      node("ReduceSum", "a", keepdims=0))

# -- reductions
R = f32(1, NAN, 3).reshape(1, 3)
for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
           "ReduceLogSumExp", "ReduceLogSum"):
    attrs = {} if op == "ReduceSum" else {"axes": [1]}
    Check(f"nan_{op.lower()}", [R], F32(NAN) if op == "ReduceSum" else f32(NAN), node(op, keepdims=0, **attrs))
Check("infinite_sum", [f32(INF, -INF, 1, 1).reshape(2, 2)], f32(NAN, 1),
      node("ReduceMean", "a", axes=[1], keepdims=0))
Check("infinite_maximum", [f32(-INF, -INF, INF, 1).reshape(2, 2)], f32(-INF, INF),
      node("ReduceMax", axes=[1], keepdims=0))
Check("infinite_logsumexp", [f32(-INF, -INF, INF, 1, 1000, 1000).reshape(3, 2)], f32(-INF, INF, 1000 + np.log(2)),
      node("ReduceLogSumExp", axes=[1], keepdims=0), within=1e-6)
Check("argmax_nan", [f32(1, NAN, 3, NAN).reshape(1, 4)], np.array([1], I64), node("ArgMax", axis=1, keepdims=0))
Check("argmax_tie", [f32(1, 3, 3, 2).reshape(1, 4)], np.array([1], I64), node("ArgMax", axis=1, keepdims=0))
Check("cumsum_nan", [f32(1, NAN, 3)], f32(1, NAN, NAN), node("Constant", "", "z", value_int=0), node("CumSum", "az"))

# -- softmax, normalisation, pools
Check("softmax_nan", [f32(1, NAN, 3, 0, 0, 0).reshape(2, 3)], f32(NAN, NAN, NAN, 1 / 3, 1 / 3, 1 / 3).reshape(2, 3),
      node("Softmax", axis=1), within=1e-6)
Check("softmax_infinite", [f32(INF, 1, -INF, -INF, -INF, 2).reshape(3, 2)],
      f32(NAN, NAN, NAN, NAN, 0, 1).reshape(3, 2), node("Softmax", axis=1))
Check("softmax_large", [f32(1000, 1000, -1000, 1000).reshape(2, 2)], f32(.5, .5, 0, 1).reshape(2, 2),
      node("Softmax", axis=1))
Check("logsoftmax_infinite", [f32(-INF, 2).reshape(1, 2)], f32(-INF, 0).reshape(1, 2), node("LogSoftmax", axis=1))
Check("layernorm_nan", [f32(1, NAN, 3, 1, 1, 1).reshape(2, 3), f32(1, 1, 1)],
      f32(NAN, NAN, NAN, 0, 0, 0).reshape(2, 3), node("LayerNormalization", "ab"))
Check("maxpool_nan", [f32(1, NAN, 3, 4, -INF, -INF).reshape(1, 1, 6)], f32(NAN, 4, -INF).reshape(1, 1, 3),
      node("MaxPool", kernel_shape=[2], strides=[2]))
Check("averagepool_nan", [f32(1, NAN, INF, 4).reshape(1, 1, 4)], f32(NAN, INF).reshape(1, 1, 2),
      node("AveragePool", kernel_shape=[2], strides=[2]))
LARGE = [np.full((1, 1, 4), 3e38, F32)]
MEAN = node("AveragePool", kernel_shape=[4])
Check("mean_beyond_range", LARGE, f32(INF).reshape(1, 1, 1), MEAN, ways=("default", "strict"))
Check("mean_beyond_range_reference", LARGE, f32(3e38).reshape(1, 1, 1), MEAN, within=1e-6, ways=("reference",))
Check("half_sum_beyond_range", [np.array([[60000, 60000, -60000, -60000, 7]], F16)], np.array([7], F16),
      node("ReduceMean", "a", "m", axes=[1], keepdims=0), node("Constant", "", "z", value=numpy_helper.from_array(F16(5))),
      node("Mul", "mz"), within=1e-3)

# -- products
Check("matmul_special", [f32(1, INF, 2, 0, 3, 4).reshape(3, 2), f32(1, 0, 1, 0).reshape(2, 2)],
      f32(INF, NAN, 2, 0, 7, 0).reshape(3, 2), node("MatMul", "ab"))
Check("convolution_padding", [f32(INF, 1, 2, 3).reshape(1, 1, 4), f32(1, 1, 1).reshape(1, 1, 3)],
      f32(INF, INF, 6, 5).reshape(1, 1, 4), node("Conv", "ab", pads=[1, 1]))

# One infinity among ones: all sums of nine times 32 but those that read it.
image = np.ones((1, 32, 16, 16), F32)
image[0, 5, 8, 8] = INF
sums = np.full((1, 32, 14, 14), 9 * 32, F32)
sums[:, :, 6:9, 6:9] = INF
Check("convolution_strict", [image, np.ones((32, 32, 3, 3), F32)], sums, node("Conv", "ab"),
      ways=("strict", "reference"))

# A weight that is infinite times the zeros of the border.
weights = np.ones((16, 64, 3, 3), F32)
weights[0, :, 0, :] = INF
sums = np.full((1, 16, 4, 4), 9 * 64, F32)
for edge in (0, -1):
    sums[0, :, edge, :] = sums[0, :, :, edge] = 6 * 64
for corner in (0, -1):
    sums[0, :, 0, corner] = sums[0, :, -1, corner] = 4 * 64
sums[0, 0] = INF
sums[0, 0, 0] = sums[0, 0, :, 0] = sums[0, 0, :, -1] = NAN
Check("convolution_infinite_weight", [np.ones((1, 64, 4, 4), F32), weights], sums,
      node("Conv", "ab", pads=[1, 1, 1, 1]), ways=("strict", "reference"))

# -- quantisation, resizing, indices
Q = f32(0.5, 1.5, 2.5, -0.5, 1000, -1000, INF, -INF)
Check("quantize_rounds", [Q, F32(1), np.uint8(10)], np.array([10, 12, 12, 10, 255, 0, 255, 0], np.uint8),
      node("QuantizeLinear", "abc"), repeat=7)
Check("quantize_signed", [Q, F32(1), np.int8(0)], np.array([0, 2, 2, 0, 127, -128, 127, -128], np.int8),
      node("QuantizeLinear", "abc"), repeat=7)
Check("quantize_nan", [f32(NAN, 1), F32(1), np.uint8(10)], np.array([0, 11], np.uint8), node("QuantizeLinear", "abc"))
Check("dequantize_exact", [np.array([0, 255, 128], np.uint8), F32(0.5), np.uint8(128)], f32(-64, 63.5, 0),
      node("DequantizeLinear", "abc"), repeat=7)
for mode, want in (("round_prefer_floor", (0, 2)), ("round_prefer_ceil", (1, 3)), ("floor", (0, 2)), ("ceil", (1, 3))):
    Check(f"resize_{mode}", [f32(0, 1, 2, 3).reshape(1, 1, 4)], f32(*want).reshape(1, 1, 2),
          node("Constant", "", "z", value_floats=[1.0, 1.0, 0.5]),
          ("Resize", ["a", "", "z"], ["y"], {"mode": "nearest", "nearest_mode": mode}))
Check("gather_outside", [f32(1, 2, 3), np.array([-1, 5, -9], I64)], f32(3, 3, 1), node("Gather", "ab"))
Check("topk_nan", [f32(1, NAN, 3, 2)], [f32(NAN, 3), np.array([1, 2], I64)],
      node("Constant", "", "z", value_ints=[2]), node("TopK", "az", "yi"))


def model_of(checks):
    nodes, ports, outs = [], [], []
    for name, check in checks.items():
        label = {i: f"{name}.{i}" for i in "abc"}
        for letter, array in zip("abc", check.inputs):
            ports.append(helper.make_tensor_value_info(label[letter], onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype],
                                                       array.shape))
        for op, inputs, outputs, attrs in check.nodes:
            nodes.append(helper.make_node(op, [f"{name}.{i}" if i else "" for i in inputs],
                                          [f"{name}.{o}" for o in outputs], name=name, **attrs))
        outs += [onnx.ValueInfoProto(name=f"{name}.{o}") for o in check.nodes[-1][2]]
    graph = helper.make_graph(nodes, "numerics", ports, outs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with status {done.returncode}: {done.stderr.strip()[-400:]}")


def differs(got, want, within):
    if got.dtype != want.dtype or got.shape != want.shape:
        return True
    if want.dtype.kind != "f":
        return not np.array_equal(got, want)
    if not np.array_equal(np.isnan(got), np.isnan(want)):
        return True
    got, want = got[~np.isnan(want)], want[~np.isnan(want)]
    if within:
        return not np.allclose(got, want, rtol=within, atol=0)
    return not (np.array_equal(got, want) and np.array_equal(np.signbit(got), np.signbit(want)))


def way(args, checks, folder, name, compile_options, run_options):
    """The checks that fail when the model is compiled and run like this."""
    run(args.bin / "mcc-compile", folder / "model.onnx", "-o", folder / name, "--threads=1", "--quiet",
        *compile_options)
    run(args.bin / "mcc-run", folder / name, "--repeat=1", f"--output={folder / (name + '.out')}", *run_options)
    failed = []
    for check_name, check in checks.items():
        if name not in check.ways:
            continue
        for letter, want in zip(check.nodes[-1][2], check.want):
            got = np.load(folder / (name + ".out") / f"{check_name}.{letter}.npy")
            if differs(got, want, check.within):
                failed.append(check_name)
                print(f"{name}: {check_name}: got {got.ravel()[:8]}, want {want.ravel()[:8]}")
    return failed


def undecided(args, folder):
    """mcc-verify on a model whose sum passes the range of float32 for every input: the check's name if it decides."""
    nodes = [helper.make_node("Clip", ["x", "low"], ["c"]), helper.make_node("ReduceMean", ["c"], ["y"], name="mean")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy"]
    graph = helper.make_graph(nodes, "undecided", ports[:1], [onnx.ValueInfoProto(name="y")],
                              [numpy_helper.from_array(F32(3e38), "low")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(folder / "undecided.onnx"))
    run(args.bin / "mcc-compile", folder / "undecided.onnx", "-o", folder / "undecided", "--threads=1", "--quiet")
    done = subprocess.run([str(args.bin / "mcc-verify"), str(folder / "undecided.onnx"), str(folder / "undecided")],
                          capture_output=True, text=True)
    if done.returncode == 2 and not done.stdout and "cannot be decided: ReduceMean node 'mean'" in done.stderr:
        return []
    print(f"undecided: status {done.returncode}, {done.stdout}{done.stderr}")
    return ["undecided"]


def unnamed():
    """Checks that the page does not name, and names that are no checks."""
    named = set(re.findall(r"`([a-z0-9_*]+)`", PAGE.read_text()))
    fits = {p: {n for n in CHECKS if re.fullmatch(p.replace("*", ".*"), n)} for p in named}
    missing = sorted(set(CHECKS) - set().union(*fits.values())) + sorted(p for p in named if "_" in p and not fits[p])
    for name in missing:
        print(f"{PAGE.name} and the checks differ in {name}")
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append")
    args = parser.parse_args()
    checks = {k: v for k, v in CHECKS.items() if not args.only or k in args.only}
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        onnx.save(model_of(checks), str(folder / "model.onnx"))
        feeds = []
        for name, check in checks.items():
            for letter, array in zip("abc", check.inputs):
                np.save(folder / f"{name}.{letter}.npy", array)
                feeds.append(f"{name}.{letter}={folder / f'{name}.{letter}.npy'}")
        inputs = [f"--input={feed}" for feed in feeds]
        failed += way(args, checks, folder, "default", [], inputs)
        failed += way(args, checks, folder, "strict", ["--numerics=strict"], inputs)
        failed += way(args, checks, folder, "reference", [f"--bind={feed}" for feed in feeds], [])
        if not args.only:
            failed += undecided(args, folder) + unnamed()
    print(f"numerics: {len(checks)} checks, {len(set(failed))} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
