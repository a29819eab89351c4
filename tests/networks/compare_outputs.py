#!/usr/bin/python3
"""Outputs of compiled networks against the reference and against ONNX Runtime, as a table.

    compare_outputs.py MODEL.onnx|FOLDER... [--ort-dir DIR] [--mcc DIR] [--target T] [--trials-per-task N] [--threads N]
                       [--logs DIR]

Each model is compiled without a log (or, with --trials-per-task, tuned with that many trials for each task; --logs
keeps the tuning logs), checked by mcc-verify on the documented random inputs (docs/INPUTS.md) and, with --ort-dir,
compared with ONNX Runtime on that one's inputs. Integers must be equal; of real numbers the error is the largest
difference relative to the output's largest magnitude, and allowed are 1e-4, and 1e-3 for networks of more than 50
kernels, or what bench/models.json says (where values are rounded to few bits inside, a last bit before can be a step
behind). Differences of ONNX Runtime below 1e-7 in absolute terms do not count: its sigmoid is only that good near zero.
Exit status 1 when anything is wrong.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What models with free dimensions or known inputs need.
SETTINGS = json.loads((ROOT / "bench" / "models.json").read_text())
TYPES = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32,
         "int8": np.int8, "uint8": np.uint8, "bool": np.bool_}



def ort_level(name):
    """How far ONNX Runtime optimises: its DequantizeLinear with MatMul in one operator rounds activations to 8 bits, and
    of random graphs some come out wrong (1.30: Transpose before MatMul with a vector)."""
    return "disabled" if name.startswith("random_") else "basic" if name == "four_bits" else "all"


def model_options(name):
    s = SETTINGS.get(name, {})
    return [f"--shape={v}" for v in s.get("shape", [])] + [f"--bind={v}" for v in s.get("bind", [])]


def ort_options(name):
    s = SETTINGS.get(name, {})
    shapes = [f"--shape={v.replace(':', '=')}" for v in s.get("shape", [])]
    fills = [f"--fill={v}" for v in s.get("bind", [])]
    scalars = [f"--shape={v.split('=')[0]}=scalar" for v in s.get("bind", [])]
    return shapes + fills + scalars + ["--opt", ort_level(name)]


def run(command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


def last_line(done):
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"


def file_name(output):
    return "".join(c if c.isalnum() and c.isascii() or c in "._-" else "_" for c in output) + ".npy"


def error_of(got, want):
    if want.dtype.kind in "iub":
        return 0.0 if np.array_equal(got, want) else float("inf")
    got, want = got.astype(np.float64), want.astype(np.float64)
    if got.shape != want.shape:
        return float("inf")
    finite = np.isfinite(want)
    if not np.array_equal(np.isfinite(got), finite):
        return float("inf")
    if not finite.any():
        return 0.0
    top = np.abs(want[finite]).max()
    worst = np.abs(got[finite] - want[finite]).max()
    if worst < 1e-7:
        return 0.0
    return worst / top if top > 0 else worst


def ort_tensors(ort_dir, model, folder):
    """ONNX Runtime's inputs and outputs: (role, name, array)."""
    dump = folder / "ort.bin"
    done = run(["node", ROOT / "bench" / "bench_ort.mjs", "--ort-dir", ort_dir, "--dump", dump, model]
               + ort_options(model.stem))
    if done.returncode != 0:
        raise RuntimeError("ONNX Runtime: " + last_line(done))
    data = dump.read_bytes()
    for t in json.loads(dump.with_suffix(".json").read_text())["tensors"]:
        count = t["nbytes"] // np.dtype(TYPES[t["dtype"]]).itemsize
        yield t["role"], t["name"], np.frombuffer(data, TYPES[t["dtype"]], count, t["offset"]).reshape(t["shape"])


def build(args, model, folder):
    """Compiles or tunes into folder/out; returns what went wrong, or None."""
    common = [model, f"--target={args.target}", f"--threads={args.threads}", "-o", folder / "out"]
    common += model_options(model.stem)
    if not args.trials_per_task:
        done = run([args.mcc / "mcc-compile"] + common)
        return None if done.returncode == 0 else "compile: " + last_line(done)
    probe = run([args.mcc / "mcc-compile"] + common + ["--json"])
    if probe.returncode != 0:
        return "compile: " + last_line(probe)
    tasks = json.loads(probe.stdout)["tasks"]
    log = (args.logs or folder) / f"{model.stem}.db"
    done = run([args.mcc / "mcc-tune"] + common
               + [f"--trials={args.trials_per_task * tasks}", f"--log={log}", "--quiet", "--json"])
    if done.returncode != 0:
        return "tune: " + last_line(done)
    wrong = json.loads(done.stdout)["trials_failed"].get("wrong_result", 0)
    return f"tune: {wrong} candidates computed something else" if wrong else None


def check(args, model, folder):
    """(status text, reference error, ONNX Runtime error, limit)"""
    wrong = build(args, model, folder)
    if wrong:
        return wrong, None, None, None
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    limit = SETTINGS.get(model.stem, {}).get("tolerance", 1e-3 if len(manifest["kernels"]) > 50 else 1e-4)
    done = run([args.mcc / "mcc-verify", model, folder / "out", f"--tolerance={limit}", "--json"]
               + model_options(model.stem))
    verified = None
    if done.stdout.strip().startswith("{"):
        verified = max((o["relative_error"] for o in json.loads(done.stdout)["outputs"]), default=0)
    if done.returncode != 0:
        return "verify: " + last_line(done), verified, None, limit
    if not args.ort_dir:
        return "ok", verified, None, limit
    feeds, wanted = [], []
    for role, name, array in ort_tensors(args.ort_dir, model, folder):
        if role == "output":
            wanted.append((name, array))
        elif name in {i["name"] for i in manifest["inputs"]}:
            np.save(folder / ("in_" + file_name(name)), array)
            feeds.append(f"--input={name}={folder / ('in_' + file_name(name))}")
    done = run([args.mcc / "mcc-run", folder / "out", "--repeat=1", f"--output={folder / 'npy'}"] + feeds)
    if done.returncode != 0:
        return "run: " + last_line(done), verified, None, limit
    worst = max(error_of(np.load(folder / "npy" / file_name(name)), want) for name, want in wanted)
    return ("ok" if worst <= limit else "WRONG"), verified, worst, limit


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("models", nargs="+", type=pathlib.Path)
    ap.add_argument("--ort-dir")
    ap.add_argument("--mcc", type=pathlib.Path, default=ROOT / "build" / "bin")
    ap.add_argument("--target", default="host")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--trials-per-task", type=int, default=0)
    ap.add_argument("--logs", type=pathlib.Path)
    args = ap.parse_args()
    args.models = [m for path in args.models for m in (sorted(path.glob("*.onnx")) if path.is_dir() else [path])]
    bad = 0
    print(f"{'model':<34} {'reference':>10} {'onnxruntime':>11} {'allowed':>8}  status", flush=True)
    for model in args.models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                status, verified, ort, limit = check(args, model, pathlib.Path(folder))
            except (RuntimeError, OSError, KeyError) as error:
                status, verified, ort, limit = str(error), None, None, None
        bad += status != "ok"
        cells = [f"{v:.1e}" if v is not None else "-" for v in (verified, ort, limit)]
        print(f"{model.stem:<34} {cells[0]:>10} {cells[1]:>11} {cells[2]:>8}  {status}", flush=True)
    print(f"networks: {len(args.models) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
