#!/usr/bin/python3
"""What must come out the same comes out the same; and what mcc-tune says to scripts.

    repeatable.py [--bin=DIR] [--full] [--seed=S]

Same seed on the simulated runner: the exported logs are equal byte for byte (another seed: not).  Same log: mcc-compile
writes equal folders.  A log survives export, import and merge: same records, same bests.  In a pipe mcc-tune prints
plain lines; with --json exactly one object with the documented keys.
"""
import json
import pathlib
import shutil
import tempfile

from faults import Checks, arguments, records, run, small_model, tree

KEYS = ["model", "target", "seed", "trials", "trials_ok", "trials_failed", "seconds", "trials_per_second",
        "latency_ms_default", "latency_ms_tuned", "tasks", "artifact", "numerics"]


def tune(args, folder, log, out, target="host", seed=1, trials=96, more=()):
    return run(args.bin / "mcc-tune", folder / "small.onnx", "--shape=x:1x3x12x12", f"--target={target}", "--threads=1",
               f"--trials={trials}", "--runner=sim", f"--seed={seed}", f"--log={folder / log}",
               "-o", folder / out, *more, limit=300)


def export(args, folder, log):
    return run(args.bin / "mcc-log", "export", folder / log).out


def best(args, folder, log):
    return sorted(run(args.bin / "mcc-log", "best", folder / log).out.splitlines())


def contents(folder):
    return {name: (folder / name).read_bytes() for name in tree(folder) if (folder / name).is_file()}


def same_seed(checks, args, folder, target):
    for log, seed in (("a", 5), ("b", 5), ("c", 6)):
        done = tune(args, folder, f"{target}.{log}.db", f"{target}.{log}", target, seed)
        checks.check(done.status == 0, f"{target}, seed {seed}: {done}")
    a, b, c = (export(args, folder, f"{target}.{log}.db") for log in "abc")
    count = len(records(args.bin, folder / f"{target}.a.db"))
    checks.check(count == 96 and a == b, f"{target}: the same seed gives two logs (one of {count} records)")
    checks.check(a != c, f"{target}: another seed gives the same log")
    checks.check(contents(folder / f"{target}.a") == contents(folder / f"{target}.b"),
                 f"{target}: the same seed gives two artifacts")


def same_artifact(checks, args, folder, emit):
    for out in ("one", "two"):
        shutil.rmtree(folder / out, ignore_errors=True)
        done = run(args.bin / "mcc-compile", folder / "small.onnx", "--shape=x:1x3x12x12", "--target=host",
                   "--threads=1", f"--log={folder / 'host.a.db'}", f"--emit={emit}", "-o", folder / out)
        checks.check(done.status == 0, f"mcc-compile --emit={emit}: {done}")
    one, two = contents(folder / "one"), contents(folder / "two")
    different = [name for name in one if one[name] != two.get(name)]
    checks.check(one and one == two, f"--emit={emit}: the same log gives two artifacts; different: {different}")
    manifest = json.loads((folder / "one" / "manifest.json").read_text())
    ids = {kernel.get("record") for kernel in manifest["kernels"]} - {None, ""}
    known = {r["id"] for r in records(args.bin, folder / "host.a.db")}
    checks.check(ids and ids <= known, f"--emit={emit}: the manifest's record ids {ids} are not all in the log")


def round_trip(checks, args, folder):
    log = args.bin / "mcc-log"
    a = "host.a.db"
    for words in (["export", folder / a, "-o", folder / "a.jsonl"],
                  ["import", folder / "a.jsonl", "-o", folder / "back.db"],
                  ["merge", folder / "back.db", folder / a, folder / "host.c.db", "-o", folder / "all.db"],
                  ["merge", folder / a, folder / "host.c.db", "-o", folder / "twice.db"],
                  ["merge", folder / a, folder / "host.c.db", "-o", folder / "twice.db"],
                  ["prune", folder / a, "--keep=1", "-o", folder / "pruned.db"]):
        done = run(log, *words)
        checks.check(done.status == 0, f"mcc-log {words[0]}: {done}")
    text = export(args, folder, a)
    checks.check((folder / "a.jsonl").read_text() == text, "mcc-log export to a file and to standard output differ")
    checks.check(export(args, folder, "back.db") == text, "export, import, export changes records")
    checks.check(best(args, folder, "back.db") == best(args, folder, a) != [], "the best after import is another one")
    checks.check(best(args, folder, "pruned.db") == best(args, folder, a), "the best after pruning is another one")
    checks.check(export(args, folder, "all.db") == export(args, folder, "twice.db"),
                 "merging what is there already changes the log")
    ids = [r["id"] for r in records(args.bin, folder / "all.db")]
    checks.check(len(set(ids)) == len(ids), "merge doubled a record")


def resumes(checks, args, folder):
    """48 trials and then 96 in all; then nothing left to do."""
    for trials in (48, 96, 96):
        done = tune(args, folder, "resumed.db", "resumed", trials=trials, more=["--json"])
        if not checks.check(done.status == 0, f"resumed run: {done}"):
            return
        count = len(records(args.bin, folder / "resumed.db"))
        checks.check(json.loads(done.out)["trials"] == count == trials, f"resumed run: {count} records, want {trials}")
    done = tune(args, folder, "resumed.db", "resumed", trials=48, more=["--fresh", "--json"])
    checks.check(done.status == 0 and len(records(args.bin, folder / "resumed.db")) == 48, f"--fresh: {done}")
    checks.check(len(records(args.bin, folder / "resumed.db.1") or []) == 96, "--fresh: the old log is gone")


def speaks(checks, args, folder):
    done = tune(args, folder, "spoken.db", "spoken", more=["--json"])
    lines = done.out.splitlines()
    if checks.check(done.status == 0 and len(lines) == 1, f"--json: {len(lines)} lines on standard output: {done}"):
        summary = json.loads(lines[0])
        missing = [key for key in KEYS if key not in summary]
        checks.check(not missing, f"--json: keys {missing} are missing")
        checks.check(summary["trials"] == 96 == summary["trials_ok"] + sum(summary["trials_failed"].values()),
                     f"--json: trials do not add up: {lines[0][:200]}")
        checks.check(isinstance(summary["tasks"], list) and sum(t["trials"] for t in summary["tasks"]) == 96,
                     "--json: the tasks' trials do not add up")
        checks.check(0 < summary["latency_ms_tuned"] <= summary["latency_ms_default"],
                     "--json: tuned is slower than the default")
        checks.check(pathlib.Path(summary["artifact"], "manifest.json").is_file(), "--json: artifact is no artifact")
    checks.check("\x1b" not in done.err and "\r" not in done.err, "terminal codes in a pipe")
    checks.check(sum(line.startswith("trials ") for line in done.err.splitlines()) >= 5,
                 f"no lines of progress in a pipe: {done.err[:300]!r}")
    done = tune(args, folder, "quiet.db", "quiet", more=["--quiet"])
    checks.check(done.status == 0 and not done.err and not done.out, f"--quiet speaks: {done} {done.out!r}")


def main():
    args = arguments(__doc__.splitlines()[0])
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        small_model(folder / "small.onnx")
        for target in ("host", "rpi4", "rv64gcv") if args.full else ("host", "rv64gcv"):
            same_seed(checks, args, folder, target)
        for emit in ("so", "a", "obj", "exe", "c") if args.full else ("so", "c"):
            same_artifact(checks, args, folder, emit)
        round_trip(checks, args, folder)
        resumes(checks, args, folder)
        speaks(checks, args, folder)
    checks.end()


if __name__ == "__main__":
    main()
