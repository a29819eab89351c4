#!/usr/bin/python3
"""What is around a run and may break: streams nobody reads, folders that cannot be replaced, names of all kinds, logs
in use, linkers that fail. The work is done all the same, or the exit status says that it was not.

    surroundings.py [--bin=DIR] [--full]
"""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

from faults import Checks, arguments, records, run, small_model, tree


def contents(folder):
    return {name: (folder / name).read_bytes() for name in tree(folder) if (folder / name).is_file()}


class Small:
    """The small model in a folder, and commands for it."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.model = [folder / "small.onnx", *small_model(folder / "small.onnx"), "--target=host", "--threads=1"]

    def tune(self, log="log.db", out="tuned", runner="sim", trials=32):
        return [str(c) for c in (self.args.bin / "mcc-tune", *self.model, f"--runner={runner}", f"--trials={trials}",
                                 f"--log={self.folder / log}", "-o", self.folder / out)]

    def compile(self, *words, **options):
        return run(self.args.bin / "mcc-compile", *self.model, *words, **options)


def lost_messages(checks, args, folder):
    """Nobody reads standard error: a full disk, a closed stream, a pipe without a reader."""
    small = Small(args, folder)
    read_end, write_end = os.pipe()
    os.close(read_end)
    with open("/dev/full", "w") as full:
        for what, options in (("full", {"stderr": full}), ("closed", {"preexec_fn": lambda: os.close(2)}),
                              ("unread", {"stderr": write_end})):
            done = subprocess.run(small.tune(f"{what}.db", what), stdin=subprocess.DEVNULL, timeout=120, **options)
            checks.check(done.returncode == 0 and len(records(args.bin, folder / f"{what}.db")) == 32
                         and (folder / what / "model.so").exists(), f"standard error {what}: status {done.returncode}")
    os.close(write_end)


def lost_results(checks, args, folder):
    """Standard output cannot be written: never status 0."""
    small = Small(args, folder)
    checks.check(run(*small.tune()).status == 0, "tuning")
    checks.check(small.compile("--emit=exe", "-o", folder / "program").status == 0, "compiling a program")
    commands = [[args.bin / "mcc-log", "export", folder / "log.db"],
                [args.bin / "mcc-log", "stats", "--json", folder / "log.db"],
                [args.bin / "mcc-run", folder / "tuned", "--json", "--repeat=1"],
                [args.bin / "mcc-compile", *small.model, "--json", "-o", folder / "out"],
                [folder / "program" / "model", "--json", "--repeat=1"]]
    with open("/dev/full", "w") as full:
        for command in commands:
            command = [str(c) for c in command]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60)
            checks.check(done.returncode == 1 and done.stderr, f"{command[:2]} >/dev/full: status {done.returncode}")
            done = subprocess.run(command, preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE, timeout=60)
            checks.check(done.returncode == 1 and done.stderr, f"{command[:2]} >&-: status {done.returncode}")


def places(checks, args, folder):
    """Artifacts into links, the working folder, a mounted disk; temporary files where none can be."""
    small = Small(args, folder)
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    (folder / "nowhere").symlink_to("missing/missing")
    (folder / "here").mkdir()
    (folder / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(folder / "disk")]
    mounted = subprocess.run(mount, capture_output=True).returncode == 0
    try:
        good = {"model.so", "model.h", "manifest.json"}
        for out, where, cwd in (("link", "real", folder), (".", "here", folder / "here"),
                                (folder / "disk", "disk", folder)):
            for emit in ("exe", "so"):  # the second one replaces the first
                done = small.compile("--quiet", f"--emit={emit}", "-o", out, cwd=cwd)
                checks.check(done.status == 0, f"-o {out}: {done}")
            checks.check(set(tree(folder / where)) == good, f"-o {out}: {tree(folder / where)}")
            done = run(args.bin / "mcc-run", folder / where, "--repeat=1")
            checks.check(done.status == 0, f"-o {out}, run: {done}")
        checks.check((folder / "link").is_symlink(), "-o LINK: the link is gone")
    finally:
        if mounted:
            subprocess.run(["umount", str(folder / "disk")], check=True)
    done = small.compile("--quiet", "-o", folder / "nowhere")
    checks.check(done.status == 2 and "nowhere" in done.err, f"-o to a dangling link: {done}")
    done = small.compile("-o", folder / "out", env={**os.environ, "TMPDIR": "/no/such/folder"})
    checks.check(done.status == 2 and "/no/such/folder" in done.err, f"TMPDIR missing: {done}")
    if "MCC_SANITIZED" in os.environ:  # which open pipes of their own to look at memory
        return
    (folder / "tmp").mkdir()
    done = small.compile("-o", folder / "out", env={**os.environ, "TMPDIR": str(folder / "tmp")},
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))
    left = tree(folder / "tmp")
    checks.check(done.status in (1, 2) and not left, f"8 open files: {done}, {left[:4]}")


def names(checks, args, folder):
    """Outputs whose files would have one name, '=' in paths, file names that are no text."""
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["a/b"]), helper.make_node("Neg", ["x"], ["a:b"])]
    graph = helper.make_graph(nodes, "twins", [info("x", TensorProto.FLOAT, [4])],
                              [info(o, TensorProto.FLOAT, [4]) for o in ("a/b", "a:b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    onnx.save(model, str(folder / "twins.onnx"))
    where = folder / "a=b"
    where.mkdir()
    x = np.array([1, -2, 3, -4], np.float32)
    np.save(where / "x.npy", x)
    for emit in ("so", "exe"):
        done = run(args.bin / "mcc-compile", folder / "twins.onnx", f"--emit={emit}", "-o", folder / emit,
                   "--threads=1")
        checks.check(done.status == 0, f"twins as {emit}: {done}")
        out = folder / f"{emit}.out"
        done = run(args.bin / "mcc-run", folder / emit, f"--input=x={where / 'x.npy'}", f"--output={out}", "--repeat=1")
        checks.check(done.status == 0 and tree(out) == ["a_b.npy", "a_b~1.npy"], f"{emit}: {done} {tree(out)}")
        checks.check(np.array_equal(np.load(out / "a_b.npy"), np.maximum(x, 0))
                     and np.array_equal(np.load(out / "a_b~1.npy"), -x), f"{emit}: outputs are not what they should be")
        done = run(args.bin / "mcc-verify", folder / "twins.onnx", folder / emit,
                   env={**os.environ, "TMPDIR": str(where)})
        checks.check(done.status == 0, f"{emit}, verify: {done}")
    odd = os.fsencode(folder) + b"/mod\xe9l.onnx"
    shutil.copy(folder / "twins.onnx", odd)
    for trials in (16, 16):  # the second run finds the records of the first
        done = subprocess.run([args.bin / "mcc-tune", odd, "--json", "--quiet", "--runner=sim", f"--trials={trials}",
                               f"--log={folder / 'odd.db'}", "-o", folder / "odd"], capture_output=True, timeout=60)
        told = json.loads(done.stdout) if done.returncode == 0 else {}
        checks.check(told.get("trials") == len(records(args.bin, folder / "odd.db")), f"a name that is no text: {done}")


def logs(checks, args, folder):
    """A log in use is not renamed, a damaged one is; what a log says beside its records goes where they go."""
    small = Small(args, folder)
    first = subprocess.Popen(small.tune("used.db", "used", trials=100000), stderr=subprocess.DEVNULL)
    while not records(args.bin, folder / "used.db"):
        time.sleep(0.05)
    done = run(*small.tune("used.db", "other"), "--fresh")
    checks.check(done.status == 2 and "in use" in done.err, f"--fresh on a log in use: {done}")
    first.send_signal(signal.SIGTERM)
    checks.check(first.wait(timeout=60) == 130 and (folder / "used" / "model.so").exists(), "SIGTERM: no artifact")
    checks.check(records(args.bin, folder / "used.db"), "--fresh on a log in use: its records are gone")
    (folder / "damaged.db").write_bytes((folder / "used.db").read_bytes()[:5000])
    done = run(*small.tune("damaged.db", "tuned"))
    checks.check(done.status == 2 and "--fresh" in done.err, f"a damaged log: {done}")
    done = run(*small.tune("damaged.db", "tuned"), "--fresh")
    checks.check(done.status == 0 and (folder / "damaged.db.1").stat().st_size == 5000, f"--fresh on it: {done}")

    log = folder / "log.db"
    done = run(*small.tune("log.db"))
    slowest = max((r for r in records(args.bin, log) if r["outcome"] == "ok"), key=lambda r: min(r["seconds"]))
    with contextlib.closing(sqlite3.connect(log)) as db:  # of all records this one is to lead its task
        db.execute("insert into notes values ('leader', ?, '0')", [slowest["id"]])
        db.commit()
    for words in (["merge", log, "-o", folder / "merged.db"], ["prune", log, "-o", folder / "pruned.db"],
                  ["export", log, "-o", folder / "log.jsonl"],
                  ["import", folder / "log.jsonl", "-o", folder / "imported.db"]):
        done = run(args.bin / "mcc-log", *words)
        checks.check(done.status == 0, f"mcc-log {words[0]}: {done}")
    made = {}
    for name in ("log", "merged", "pruned", "imported"):
        done = small.compile(f"--log={folder / name}.db", "-o", folder / f"from.{name}")
        made[name] = contents(folder / f"from.{name}")
        checks.check(done.status == 0 and made[name] == made["log"], f"the artifact from {name}.db is another: {done}")
    done = run(args.bin / "mcc-log", "prune", log, "-o", log)
    checks.check(done.status == 2, f"pruning a log onto itself: {done}")
    done = run(args.bin / "mcc-compile", *small.model[:-1], "--threads=2", f"--log={log}", "-o", folder / "wide",
               "--json")
    checks.check(done.status == 0 and "1 cores" in done.err and len(done.out.splitlines()) == 1,
                 f"a log of another device: no word of it: {done}")


def linkers(checks, args, folder):
    """A linker that fails costs a second try."""
    small = Small(args, folder)
    (folder / "bin").mkdir()
    mold = folder / "bin" / "mold"
    mold.write_text("#!/bin/sh\nexit 1\n")
    mold.chmod(0o755)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = run(*small.tune(runner="local", trials=8), "--json", env={**os.environ, "PATH": path}, limit=120)
    checks.check(done.status == 0 and json.loads(done.out)["trials_ok"] > 0, f"a linker that fails: {done}")


def main():
    args = arguments(__doc__.splitlines()[0])
    args.bin = args.bin.resolve()
    checks = Checks()
    for part in (lost_messages, lost_results, places, names, logs, linkers):
        with tempfile.TemporaryDirectory() as name:
            part(checks, args, pathlib.Path(name))
    checks.end()


if __name__ == "__main__":
    main()
