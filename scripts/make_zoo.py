#!/usr/bin/python3
"""Write the standard network topologies as ONNX files, with seeded random weights.

    make_zoo.py OUT_DIR                  the networks (all but the large ones)
    make_zoo.py OUT_DIR --large          ... and the large ones
    make_zoo.py OUT_DIR --ops            the single-subgraph workloads instead
    make_zoo.py OUT_DIR --families       small networks of other families and habits instead (zoo/families.py)
    make_zoo.py OUT_DIR --random=N       N random graphs instead, others with each --seed (zoo/random_models.py)
    make_zoo.py OUT_DIR 'resnet*' bert_mini conv_56x56x64_64_3x3_s1
    make_zoo.py --list

Needs only onnx (1.10 or newer) and numpy.  A name may be a shell pattern.

What the files are
    Opset 13 (one variant is opset 14, see mobilenet_v3_small_op14), fp32, static
    shapes, batch 1.  The graphs look like what an exporter writes, so that a
    compiler has the usual work left to do: Conv and BatchNormalization are
    separate nodes, weights are initializers, shapes and scalars are Constant
    nodes, ReLU6 is Clip with Constant bounds, SiLU is Sigmoid+Mul, LayerNorm is
    ReduceMean/Sub/Pow/ReduceMean/Add/Sqrt/Div/Mul/Add, GELU is Div/Erf/Add/Mul/Mul,
    a 3-D linear layer is MatMul+Add and a 2-D one is Gemm with transB.
    Intermediate shapes are not stored; a reader has to infer them.

What the weights are
    Random, from numpy's frozen RandomState, seeded by (--seed, model name): the
    same file comes out every time, whichever other models are written.  They are
    He-scaled.  Each filter of an ungrouped convolution or linear layer has its
    mean removed, which keeps the mean of a ReLU from building up with depth (in
    a plain random network it does, until the output hardly depends on the
    input, and then comparing outputs says nothing about the early layers).
    BatchNormalization statistics follow a running estimate of each tensor's mean
    and variance, with a random spread, so activations stay of order one.
    The networks compute nothing useful: they are for speed and for comparing
    the numbers of two implementations.
"""
import argparse
import fnmatch
import os
import sys

import numpy as np
import onnx

from zoo.builder import Net
from zoo.families import FAMILIES, build_family
from zoo.networks import LARGE, NETS, OPSET, SEED_NAME
from zoo.random_models import random_model
from zoo.workloads import OPS


def build(name, seed):
    """The ModelProto of one network or workload, and its number of parameters."""
    if name in FAMILIES or name.startswith("random_"):
        model = build_family(name) if name in FAMILIES else random_model(seed, int(name.removeprefix("random_")))
        return model, sum(int(np.prod(t.dims)) for t in model.graph.initializer)
    n = Net(SEED_NAME.get(name, name), seed, OPSET.get(name, 13))
    (NETS.get(name) or OPS[name])(n)
    n.name = name
    return n.finish(), n.params


def choose(patterns, ops, large, families):
    """The names to write; raises KeyError with the pattern that matches nothing."""
    if families:
        return [k for k in FAMILIES if not patterns or any(fnmatch.fnmatchcase(k, p) for p in patterns)]
    if not patterns:
        return list(OPS) if ops else [k for k in NETS if large or k not in LARGE]
    chosen = []
    for pattern in patterns:
        hits = [k for k in list(NETS) + list(OPS) if fnmatch.fnmatchcase(k, pattern)]
        if pattern not in hits:     # a pattern takes the large ones only if asked to
            hits = [k for k in hits if large or k not in LARGE]
        if not hits:
            raise KeyError(pattern)
        chosen += [k for k in hits if k not in chosen]
    return chosen


def main(argv=None):
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out_dir", nargs="?", help="folder to write NAME.onnx files into")
    ap.add_argument("names", nargs="*", help="names or shell patterns (default: a whole set)")
    ap.add_argument("--ops", action="store_true",
                    help="the single-subgraph workloads instead of the networks")
    ap.add_argument("--families", action="store_true", help="small networks of other families instead")
    ap.add_argument("--random", type=int, metavar="N", help="N random graphs instead, others with another --seed")
    ap.add_argument("--large", action="store_true",
                    help="include the large networks: " + ", ".join(sorted(LARGE)))
    ap.add_argument("--seed", type=int, default=0, help="changes all weights (default 0)")
    ap.add_argument("--list", action="store_true", help="print the names and write nothing")
    args = ap.parse_intermixed_args(argv)

    if args.list:
        for name, fn in NETS.items():
            doc = (fn.__doc__ or "").strip().split("\n")[0]
            flag = " (large: off by default)" if name in LARGE else ""
            print(("%-26s %s%s" % (name, doc, flag)).rstrip())
        print("\nwith --ops:")
        for name in OPS:
            print(name)
        print("\nwith --families:")
        for name, fn in FAMILIES.items():
            print("%-26s %s" % (name, fn.__doc__.strip()))
        return 0
    if not args.out_dir:
        ap.error("OUT_DIR is needed")
    try:
        names = ([f"random_{i}" for i in range(args.random)] if args.random else
                 choose(args.names, args.ops, args.large, args.families))
    except KeyError as e:
        ap.error("no network or workload matches %s (see --list)" % e)

    os.makedirs(args.out_dir, exist_ok=True)
    for name in names:
        model, params = build(name, args.seed)
        path = os.path.join(args.out_dir, name + ".onnx")
        onnx.save(model, path + ".part")
        os.replace(path + ".part", path)
        print("%-40s %5d nodes %8.3f M params %8.2f MiB" % (
            name, len(model.graph.node), params / 1e6, os.path.getsize(path) / 2 ** 20), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
