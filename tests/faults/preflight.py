#!/usr/bin/python3
"""mcc-tune --check: status 0 for models that can be compiled, 2 for others with all that stands in the way; nothing is
written, and the sizes it tells are those of the artifact that mcc-compile makes.

    preflight.py [--bin=DIR] [--full]
"""
import json
import pathlib
import tempfile

import onnx
from onnx import TensorProto, helper

from faults import Checks, arguments, run, small_model, tree


def broken_model(path):
    """Three refusals of different kinds, one free dimension, and nodes that only follow from them."""
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["z"], ["r"], name="fine"),
             helper.make_node("Frobnicate", ["r"], ["a"], name="unknown"),
             helper.make_node("Add", ["a", "x"], ["b"], name="follows"),
             helper.make_node("Wibble", ["b"], ["c"], name="foreign", domain="some.where"),
             helper.make_node("Softmax", ["r"], ["d"], name="wrong", axis=9)]
    graph = helper.make_graph(nodes, "broken", [info("x", TensorProto.FLOAT, ["batch", 4]),
                                                info("z", TensorProto.FLOAT, [2, 4])],
                              [info(o, TensorProto.FLOAT, None) for o in "cd"])
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("some.where", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), str(path))


def sound(checks, args, folder):
    shape = small_model(folder / "good.onnx")
    before = tree(folder)
    done = run(args.bin / "mcc-tune", folder / "good.onnx", *shape, "--check", "--json", "--trials=500",
               cwd=folder)
    checks.check(done.status == 0, f"--check of a sound model: {done}")
    checks.check(tree(folder) == before, "--check has written something")
    told = json.loads(done.out)
    checks.check(told["can_compile"] and not told["refusals"] and not told["free_dimensions"],
                 f"--check --json: {told}")
    checks.check(told["operators"].get("Conv") == 2 and told["tasks"] >= 5 and told["multiply_adds"] > 0
                 and 0 < told["estimated_seconds"] < 1000, f"--check --json: {told}")
    done = run(args.bin / "mcc-compile", folder / "good.onnx", *shape, "-o", folder / "out", "--json")
    made = json.loads(done.out)
    for key in ("weight_bytes", "peak_arena_bytes", "tasks"):
        checks.check(made[key] == told[key], f"{key}: --check says {told[key]}, the artifact has {made[key]}")
    done = run(args.bin / "mcc-tune", folder / "good.onnx", *shape, "--trials=8", "--runner=sim",
               "-o", folder / "tuned", f"--log={folder / 'log.db'}", limit=300)
    checks.check(done.status == 0 and "multiply-adds" in done.err.splitlines()[0], f"no summary before tuning: {done}")


def broken(checks, args, folder):
    broken_model(folder / "broken.onnx")
    done = run(args.bin / "mcc-tune", folder / "broken.onnx", "--check", "--json")
    told = json.loads(done.out)
    checks.check(done.status == 2 and not told["can_compile"], f"--check of a broken model: {done}")
    checks.check([r["node"] for r in told["refusals"]] == ["unknown", "foreign", "wrong"],
                 f"refusals: {told['refusals']}")
    checks.check(all(r["advice"] for r in told["refusals"]), f"refusals without advice: {told['refusals']}")
    checks.check([d["option"] for d in told["free_dimensions"]] == ["--dim=batch=1"],
                 f"free: {told['free_dimensions']}")
    for node in ("unknown", "foreign", "wrong", "--dim=batch=1"):
        checks.check(node in done.err, f"the report does not name {node}: {done.err}")
    done = run(args.bin / "mcc-tune", folder / "broken.onnx", "--trials=8")
    checks.check(done.status == 2 and len(done.err.splitlines()) == 1 and "3 more" in done.err,
                 f"tuning it: {done}")


def main():
    args = arguments("The pre-flight of mcc-tune: status, report, sizes.")
    args.bin = args.bin.resolve()
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        sound(checks, args, pathlib.Path(name))
        broken(checks, args, pathlib.Path(name))
    checks.end()


if __name__ == "__main__":
    main()
