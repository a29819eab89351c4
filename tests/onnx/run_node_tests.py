#!/usr/bin/python3
"""Run ONNX's own test suites through compiled artifacts.

    run_node_tests.py [--suite=node] [--target=host] [-j N] [--min-pass=N] [--list-refused] [PATTERN...]

Each case is a folder with a model, inputs and expected outputs: test_data_set_*/{input,output}_N.pb as in Debian's
libonnx-testdata, or, where --suite names a folder of one's own, io.json (names in order, tolerances) and
{input,output}_N.npy.  It is compiled by mcc-compile, run by mcc-run, and
compared with the tolerances of ONNX's backend tests or those of io.json.  Where mcc says that an input must be known at
compile time, the case is compiled again with that input bound to its value, as long as one real input remains: an
artifact that computes nothing would prove nothing.  An output whose shape depends on data is cut to what its companion
NAME:shape says; of random outputs (Bernoulli) only type and shape are compared.

    passed    every output of every data set agrees
    refused   mcc-compile ended with status 2 and one line, before any work
    wrong     an output differs, or its type or shape does
    crashed   anything else: a signal, another status, a refusal of several lines, a time limit

The last line reads: onnx: P passed, U refused, W wrong, C crashed of N.  Exit status 1 if W or C, or fewer than
--min-pass passed.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
BIN = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"
LIMIT_S = 120


class Refused(Exception):
    """mcc-compile said no, in one line."""


class Wrong(Exception):
    """An output differs."""


class Crashed(Exception):
    """Something that must never happen."""


def read_tensor(path, value):
    """The array, or None where the data is a sequence, an optional or strings."""
    if value.type.WhichOneof("value") != "tensor_type":
        return None
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    if tensor.data_type in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING):
        return None
    array = numpy_helper.to_array(tensor)
    if value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 and array.dtype == np.uint16:
        # numpy has no such type: the test data holds its bits, and mcc reads and writes it as float32
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


@dataclasses.dataclass
class Data:
    inputs: list
    wanted: list
    rtol: float = 1e-3
    atol: float = 1e-5


def read_data_sets(folder, inputs, outputs):
    """The data of a case for these inputs and outputs of its model."""
    if (folder / "io.json").exists():
        about = json.loads((folder / "io.json").read_text())
        arrays = [[np.load(folder / ("%s_%d.npy" % (kind, about[kind + "s"].index(v.name)))) for v in values]
                  for kind, values in (("input", inputs), ("output", outputs))]
        yield Data(*arrays, about["rtol"], about["atol"])
    for data in sorted(folder.glob("test_data_set_*")):
        arrays = [[read_tensor(data / ("%s_%d.pb" % (kind, i)), v) for i, v in enumerate(values)]
                  for kind, values in (("input", inputs), ("output", outputs))]
        yield Data(*arrays)


def fits(value, array):
    """Whether the data has the shape that the model declares.  Debian's bfloat16 CastLike cases have some that has not,
    for an input whose numbers nobody reads: it is left out, and mcc-run makes its own."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return True
    dims = tensor.shape.dim
    return len(dims) == array.ndim and all(d.dim_value in (0, n) for d, n in zip(dims, array.shape))


def file_name(output):
    return re.sub(r"[^A-Za-z0-9._-]", "_", output) + ".npy"


def run(argv):
    """Exit status (negative: a signal) and standard error."""
    try:
        done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Crashed("%s ran longer than %d s" % (pathlib.Path(argv[0]).name, LIMIT_S)) from None
    return done.returncode, done.stderr.decode(errors="replace").strip()


def shape_options(real, arrays):
    """--shape for inputs with free dimensions: those of their data."""
    for value, array in zip(real, arrays):
        if array is not None and any(not d.HasField("dim_value") for d in value.type.tensor_type.shape.dim):
            yield "--shape=%s:%s" % (value.name, "x".join(map(str, array.shape)) or "scalar")


def compile_case(options, model, shapes, names, files, out):
    """Compiles the model, binding the inputs that mcc asks for; gives the names that are bound."""
    bound = []
    while True:
        argv = [options.bin / "mcc-compile", model, "--target=" + options.target, "--quiet", "-o", out, *shapes]
        status, error = run(argv + ["--bind=%s=%s" % (name, files[name]) for name in bound])
        if status == 0:
            return bound
        if status != 2 or error.count("\n") or not error or out.exists():
            raise Crashed("mcc-compile: status %d: %s" % (status, error[-300:]))
        more = [n for n in re.findall(r"--bind=(\S+)=VALUE", error) if n in files and n not in bound]
        if not more or len(bound) + len(more) >= len(names):
            raise Refused(error)
        bound += more


def read_output(results, name, made):
    """The array that mcc-run wrote; its real part where the shape depends on data."""
    array = np.load(results / file_name(name))
    if not any(port["name"] == name + ":shape" for port in made):
        return array
    shape = np.load(results / file_name(name + ":shape"))
    return array[tuple(slice(n) for n in shape)]


def compare(output, got, want, data, is_random):
    name = output.name
    if got.shape != want.shape or got.dtype != want.dtype:
        raise Wrong("%s is %s%s instead of %s%s" % (name, got.dtype, list(got.shape), want.dtype, list(want.shape)))
    if is_random:
        return
    if want.dtype.kind == "f":
        narrow = output.type.tensor_type.elem_type in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
        rtol, atol = (1e-2, 1e-3) if narrow else (data.rtol, data.atol)
        same = np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    else:
        same = got == want
    if not same.all():
        at = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(same)))
        raise Wrong("%s%s is %s instead of %s" % (name, list(at), np.atleast_1d(got)[at], np.atleast_1d(want)[at]))


def run_data_set(options, model, real, outputs, data, temp):
    names = [i.name for i in real]
    files = {}
    for i, (name, value) in enumerate(zip(names, data.inputs)):
        if value is not None:
            files[name] = temp / ("input_%d.npy" % i)
            np.save(files[name], value)
    artifact, results = temp / "artifact", temp / "results"
    bound = compile_case(options, model, list(shape_options(real, data.inputs)), names, files, artifact)
    if any(array is None for array in data.inputs + data.wanted):
        raise Crashed("mcc-compile took a model whose data are no tensors of numbers")
    argv = [options.bin / "mcc-run", artifact, "--output=%s" % results, "--repeat=1"]
    for value, array in zip(real, data.inputs):
        if value.name not in bound and fits(value, array):
            argv.append("--input=%s=%s" % (value.name, files[value.name]))
    status, error = run(argv)
    if status != 0:
        raise Crashed("mcc-run: status %d: %s" % (status, error[-300:]))
    made = json.loads((artifact / "manifest.json").read_text())["outputs"]  # an output that is an input has a new name
    for output, port, want in zip(outputs, made, data.wanted):
        compare(output, read_output(results, port["name"], made), want, data,
                model.parent.name.startswith("test_bernoulli"))


def run_case(options, folder):
    """(name, verdict, reason)"""
    try:
        model = folder / "model.onnx"
        graph = onnx.load(str(model), load_external_data=False).graph
        constant = {t.name for t in graph.initializer}
        real = [i for i in graph.input if i.name not in constant]
        for data in read_data_sets(folder, real, graph.output):
            with tempfile.TemporaryDirectory() as temp:
                run_data_set(options, model, real, graph.output, data, pathlib.Path(temp))
    except (Refused, Wrong, Crashed) as verdict:
        return folder.name, type(verdict).__name__.lower(), str(verdict)
    return folder.name, "passed", ""


def parse_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("patterns", nargs="*", help="names of cases, as shell patterns (default: all)")
    ap.add_argument("--suite", default="node", help="node, simple, pytorch-converted, pytorch-operator, or a folder")
    ap.add_argument("--target", default="host")
    ap.add_argument("--bin", type=pathlib.Path, default=BIN, help="folder of the programs (default: build/bin)")
    ap.add_argument("-j", type=int, default=2, dest="jobs", help="cases at a time (default 2)")
    ap.add_argument("--min-pass", type=int, default=0, help="fail when fewer cases pass")
    ap.add_argument("--list-refused", action="store_true", help="print refusals with their reasons too")
    return ap.parse_args()


def main():
    options = parse_arguments()
    folders = sorted(p.parent for p in (DATA / options.suite).glob("*/model.onnx"))
    if options.patterns:
        folders = [f for f in folders if any(fnmatch.fnmatch(f.name, p) for p in options.patterns)]
    for program in ("mcc-compile", "mcc-run"):
        if not (options.bin / program).exists():
            sys.exit("run_node_tests.py: %s is missing; run scripts/build.sh, or give --bin" % (options.bin / program))
    if not folders:
        sys.exit("run_node_tests.py: no case under %s matches" % (DATA / options.suite))
    count = dict.fromkeys(["passed", "refused", "wrong", "crashed"], 0)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, verdict, reason in pool.map(lambda folder: run_case(options, folder), folders):
            count[verdict] += 1
            if verdict in ("wrong", "crashed") or (verdict == "refused" and options.list_refused):
                print("%-8s %s: %s" % (verdict, name, reason), flush=True)
    print("onnx: %d passed, %d refused, %d wrong, %d crashed of %d" % (*count.values(), len(folders)))
    return 1 if count["wrong"] or count["crashed"] or count["passed"] < options.min_pass else 0


if __name__ == "__main__":
    sys.exit(main())
