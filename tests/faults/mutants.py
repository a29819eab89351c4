#!/usr/bin/python3
"""Damaged models: each is refused with status 2 and exactly one line, or compiles to an artifact that is right.

    mutants.py [--bin=DIR] [--count=N] [--seed=S] [--jobs=J] [--keep=DIR] [--only=I] [--sanitized] [MODEL.onnx...]

Every mutant (mutate.py) of one of the seed models goes through mcc-compile, and what compiles through mcc-verify, each
in a process with 10 s of CPU time and 4 GiB of address space. Seeds are models made here, those of the fuzz corpus,
ONNX's own node tests where they are installed, and the models given. Those that do not compile, or not fast, are left
out. Mutant I of a seed S is always the same: --only=I shows it again.

    right     compiled, and the artifact computes what the reference does
    refused   status 2, one line, nothing left behind; by mcc-verify only when a run takes more memory than there is
    overflow  compiled, and a sum passes the range of its type in some order of its terms, as mcc-verify says: there is
              nothing to compare
    wrong     compiled, and the artifact computes something else
    crash     a signal; or an internal error, which says that mcc is wrong and not the model
    hang      the CPU time ran out
    memory    the address space ran out, and the message says so
    other     anything else: another status, no line, several lines, files left behind

Only the first three are good. With --keep the others' models are copied to that folder.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import tempfile

import onnx

from faults import DEFAULT_BIN, Checks, run, small_model
from mutate import damage

CPU_S = 10
WALL_S = 200  # on a busy machine
MEMORY_BYTES = 4 << 30
HERE = pathlib.Path(__file__).resolve().parent
NODE_TESTS = pathlib.Path("/usr/share/libonnx-testdata/data/node")
GOOD = ("right", "refused", "overflow")


class Session:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def limited(self, *command):
        limits = [f"--cpu={CPU_S * (6 if self.args.sanitized else 1)}"]
        if not self.args.sanitized:  # which takes terabytes of addresses for itself
            limits.append(f"--as={MEMORY_BYTES}")
        return run("prlimit", *limits, "--core=0", *command, limit=WALL_S)

    def outcome(self, model):
        """What becomes of a model file, and the finished command that tells it."""
        out = model.with_suffix(".out")
        done = self.limited(self.args.bin / "mcc-compile", model, "--quiet", "--threads=1", "-o", out)
        try:
            if done.status != 0:
                return failed_outcome(done, left=out.exists()), done
            if done.err or not (out / "manifest.json").is_file():
                return "other", done
            done = self.limited(self.args.bin / "mcc-verify", model, out)
            if done.status == 0:
                return "right", done
            if done.status == 2 and ": cannot be decided: " in done.err:
                return "overflow", done
            said_wrong = done.status == 1 and done.out.strip() == "wrong"
            kind = "wrong" if said_wrong else failed_outcome(done, left=False)
            return ("other" if kind == "refused" and not is_too_large(done) else kind), done
        finally:
            shutil.rmtree(out, ignore_errors=True)


def is_too_large(done):
    """Refused because this process may not take the memory of a run, before any of it was taken."""
    return done.status == 2 and "GiB of memory, more than" in done.err


def failed_outcome(done, left):
    lines = [line for line in done.err.splitlines() if line.strip()]
    if done.status in ("hang", -24, -9):  # SIGXCPU, then SIGKILL
        return "hang"
    if isinstance(done.status, int) and done.status < 0 or "internal error" in done.err or "Sanitizer" in done.err:
        return "crash"
    if "memory" in done.err and len(lines) == 1 and not is_too_large(done):
        return "memory"
    good = done.status == 2 and len(lines) == 1 and 10 < len(lines[0]) < 2000 and not done.out and not left
    return "refused" if good else "other"


def with_fixed_inputs(data):
    """The model with 1 for every free dimension, so that it compiles without options."""
    model = onnx.ModelProto()
    model.ParseFromString(data)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.dim_value = 1
    return model.SerializeToString()


def seeds(session):
    """The seed models' bytes, by name; only those that are right as they are."""
    small_model(session.folder / "small.onnx")
    files = [session.folder / "small.onnx", *sorted((HERE.parent / "fuzz" / "corpus" / "onnx").glob("*.onnx"))]
    files += [pathlib.Path(m) for m in session.args.models]
    nodes = sorted(NODE_TESTS.glob("*/model.onnx"))
    if session.args.nodes and nodes:
        files += random.Random(session.args.seed).sample(nodes, min(session.args.nodes, len(nodes)))
    found = {}
    with concurrent.futures.ThreadPoolExecutor(session.args.jobs) as pool:
        def one(number, file):
            copy = session.folder / f"seed{number}.onnx"
            copy.write_bytes(with_fixed_inputs(file.read_bytes()))
            return session.outcome(copy)[0], copy.read_bytes()
        for file, (outcome, data) in zip(files, pool.map(one, range(len(files)), files)):
            if outcome == "right":
                found[f"{file.parent.name}/{file.stem}"] = data
    print(f"{len(files)} seeds, {len(found)} used", flush=True)
    return found


def run_mutants(checks, session, models):
    names = sorted(models)
    numbers = [session.args.only] if session.args.only is not None else range(session.args.count)

    def one(number):
        rng = random.Random(session.args.seed * 1_000_003 + number)
        name = rng.choice(names)
        file = session.folder / f"mutant{number}.onnx"
        file.write_bytes(damage(models[name], rng))
        try:
            outcome, done = session.outcome(file)
            if outcome not in GOOD and session.args.keep:
                shutil.copy(file, session.args.keep / f"{outcome}-{number}.onnx")
            return number, name, outcome, done
        finally:
            file.unlink()

    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(session.args.jobs) as pool:
        for number, name, outcome, done in pool.map(one, numbers):
            counts[outcome] += 1
            checks.check(outcome in GOOD, f"mutant {number} of {name}: {outcome}: {done}")
            if sum(counts.values()) % 500 == 0:
                print(f"{sum(counts.values())}: {dict(counts)}", flush=True)
    left = [f.name for f in session.folder.iterdir() if ".mcc-stage" in f.name]
    checks.check(not left, f"temporary folders were left behind: {left}")
    print(f"{sum(counts.values())} mutants: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx", help="more seeds")
    parser.add_argument("--bin", type=pathlib.Path, default=DEFAULT_BIN, help="folder of mcc-compile and mcc-verify")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--nodes", type=int, default=30, help="how many of ONNX's node tests are seeds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="only the mutant of this number")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the models that neither fail well nor work")
    parser.add_argument("--sanitized", action="store_true", default="MCC_SANITIZED" in os.environ,
                        help="the programs are built with sanitizers")
    args = parser.parse_args()
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        session = Session(args, pathlib.Path(name))
        run_mutants(checks, session, seeds(session))
    checks.end()


if __name__ == "__main__":
    main()
