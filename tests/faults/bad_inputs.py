#!/usr/bin/python3
"""Bad files, bad options, full disks: exit status 2 or 1 with exactly one clear line; no crash, nothing half-written.

    bad_inputs.py [--bin=DIR] [--full] [--seed=S]

Damaged models have a script of their own, mutants.py.
"""
import contextlib
import json
import pathlib
import random
import resource
import shutil
import sqlite3
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from faults import Checks, arguments, run, small_model, tree

LIMIT_S = 60  # a refusal takes far less, on a busy machine too


def refused(checks, what, done, statuses=(2,)):
    lines = [line for line in done.err.splitlines() if line.strip()]
    ok = done.status in statuses and len(lines) == 1 and 10 < len(lines[0]) < 400 and not done.out
    return checks.check(ok, f"{what}: {done}")


def padded_model(path):
    """Ordinary sizes outside, and a kernel that would need a padded copy of 16 EiB."""
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4]),
             helper.make_tensor_value_info("w", TensorProto.FLOAT, [1, 1, 3, 3])]
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="far", pads=[1 << 30] * 4, strides=[1 << 30] * 2)
    graph = helper.make_graph([node], "padded", ports, [onnx.ValueInfoProto(name="y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))


def bad_models(checks, args, folder):
    small_model(folder / "good.onnx")
    padded_model(folder / "padded.onnx")
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "text.onnx").write_text("this is no model\n" * 100)
    (folder / "a_folder").mkdir()
    good = folder / "good.onnx"
    cases = [
        ("missing model", [folder / "none.onnx"]),
        ("folder as model", [folder / "a_folder"]),
        ("empty model", [folder / "empty.onnx"]),
        ("text as model", [folder / "text.onnx"]),
        ("device as model", ["/dev/null"]),
        ("kernel beyond all memory", [folder / "padded.onnx"]),
        ("free dimension", [good]),
        ("wrong rank", [good, "--shape=x:1x3x12"]),
        ("contradicts the model", [good, "--shape=x:1x4x12x12"]),
        ("not a shape", [good, "--shape=x:1xthreex12x12"]),
        ("negative shape", [good, "--shape=x:1x-3x12x12"]),
        ("huge shape", [good, "--shape=x:9223372036854775807x3x12x12"]),
        ("overflowing shape", [good, "--shape=x:99999999999999999999x3x12x12"]),
        ("empty shape", [good, "--shape=x:"]),
        ("no name", [good, "--shape=1x3x12x12"]),
        ("unknown input", [good, "--shape=z:1x3x12x12"]),
        ("unknown dimension", [good, "--dim=rows=1"]),
        ("bad dimension", [good, "--dim=batch=one"]),
        ("bind unknown", [good, "--shape=x:1x3x12x12", "--bind=z=1"]),
        ("bind nothing", [good, "--shape=x:1x3x12x12", "--bind=x"]),
        ("bind a word", [good, "--shape=x:1x3x12x12", "--bind=x=one"]),
        ("bind a missing file", [good, "--shape=x:1x3x12x12", "--bind=x=none.npy"]),
    ]
    for what, words in cases:
        for tool, more in (("mcc-compile", ["--quiet"]),
                           ("mcc-tune", ["--quiet", "--trials=8", "--runner=sim", f"--log={folder / 'never.db'}"])):
            done = run(args.bin / tool, *words, "--target=host", "-o", folder / "never", *more, limit=LIMIT_S)
            if refused(checks, f"{tool}, {what}", done) and len(words) == 1:
                checks.check(done.err.startswith(f"{words[0]}: "), f"{tool}, {what}: the file is not named: {done.err}")
    checks.check(not (folder / "never").exists() and not (folder / "never.db").exists(),
                 "a refused model left an artifact or a log")


def bad_options(checks, args, folder):
    shape = small_model(folder / "good.onnx")
    good = [folder / "good.onnx", *shape, "--quiet", "-o", folder / "never"]
    for name, text in (("notjson.json", "{"), ("list.json", "[]"), ("unknown.json", '{"base": "host", "colour": 3}'),
                       ("wrong.json", '{"base": "host", "cores": "two"}'),
                       ("few.json", '{"name": "x"}'), ("base.json", '{"base": "nothing"}'),
                       ("zero.json", '{"base": "host", "vector_bytes": 0}'),
                       ("minus.json", '{"base": "host", "cores": -4}'),
                       ("triple.json", '{"base": "host", "triple": "z80-none"}')):
        (folder / name).write_text(text)
        refused(checks, f"--target={name}",
                run(args.bin / "mcc-compile", *good, f"--target={folder / name}", limit=LIMIT_S))
    sim = ["--runner=sim", "--trials=8", f"--log={folder / 'never.db'}"]
    cases = [
        ("unknown target", "mcc-compile", [*good, "--target=commodore64"]),
        ("missing target file", "mcc-compile", [*good, f"--target={folder / 'none.json'}"]),
        ("folder as target", "mcc-compile", [*good, f"--target={folder}"]),
        ("unknown emit", "mcc-compile", [*good, "--emit=jar"]),
        ("unknown emit", "mcc-tune", [*good, *sim, "--emit=jar"]),
        ("minus threads", "mcc-compile", [*good, "--threads=-1"]),
        ("no threads", "mcc-compile", [*good, "--threads=0"]),
        ("no threads", "mcc-verify", [folder / "good.onnx", folder / "never", "--threads=0"]),
        ("no threads", "mcc-tune", [*good, *sim, "--threads=0"]),
        ("unknown runner", "mcc-tune", [*good, "--trials=8", "--runner=oracle", f"--log={folder / 'never.db'}"]),
        ("local runner for a board", "mcc-tune",
         [*good, "--trials=8", "--runner=local", "--target=rpi4", f"--log={folder / 'never.db'}"]),
        ("no trials", "mcc-tune", [*good, "--runner=sim", "--trials=0"]),
        ("trials in words", "mcc-tune", [*good, "--runner=sim", "--trials=many"]),
        ("bad time", "mcc-tune", [*good, *sim, "--time-budget=soon"]),
        ("no time", "mcc-tune", [*good, *sim, "--time-budget=0"]),
        ("far too many threads", "mcc-compile", [*good, "--threads=100000"]),
        ("resume and fresh", "mcc-tune", [*good, *sim, "--resume", "--fresh"]),
        ("unknown option", "mcc-tune", [*good, *sim, "--faster"]),
        ("no model", "mcc-tune", []),
        ("no command", "mcc-log", []),
        ("unknown command", "mcc", ["dance"]),
        ("unknown log command", "mcc-log", ["dance", folder / "log.db"]),
    ]
    for what, tool, words in cases:
        refused(checks, f"{tool}, {what}", run(args.bin / tool, *words, limit=LIMIT_S))
    done = run(args.bin / "mcc-targets")
    checks.check(done.status == 0 and "rpi4" in done.out.split(), f"mcc-targets: {done}")
    checks.check(not (folder / "never").exists() and not (folder / "never.db").exists(),
                 "bad options left an artifact or a log")


def bad_benches(checks, args, folder):
    """What mcc-bench is given: settings, models, folders, peers."""
    small_model(folder / "good.onnx")
    shape = {"good": {"shape": ["x:1x3x12x12"], "tolerance": 1e-3}}
    settings = folder / "settings.json"
    bench = [args.bin / "mcc-bench", folder / "good.onnx", "--passes=1", "--seconds=0.01", f"--settings={settings}"]
    for what, text in (("no JSON", "{"), ("no object", "[]"), ("a number for a model", '{"good": 3}'),
                       ("an unknown option", '{"other": {"colour": ["red"]}}'),
                       ("a text for a list", '{"good": {"shape": "x:1x3x12x12"}}'),
                       ("numbers for texts", '{"good": {"bind": [1]}}')):
        settings.write_text(text)
        refused(checks, f"mcc-bench, settings with {what}", run(*bench, limit=LIMIT_S))
    settings.write_text(json.dumps(shape))
    refused(checks, "mcc-bench, missing model", run(*bench, folder / "none.onnx", limit=LIMIT_S))
    refused(checks, "mcc-bench, artifacts in /proc", run(*bench, "--artifacts=/proc/x", limit=LIMIT_S))
    refused(checks, "mcc-bench, no peers", run(*bench, f"--peers={folder / 'none'}", limit=LIMIT_S))
    peers = folder / "peers"
    peers.mkdir()
    for says, want in (('echo "fast enough"', "printed no JSON object"), ("echo '[1]'", "printed no JSON object"),
                       ("true", "printed no JSON object"), ("echo '{}'", "lacks the numbers"),
                       ("echo 'no licence' >&2; echo 'no luck' >&2; exit 1", "no licence no luck")):
        (peers / "peer-odd").write_text(f"#!/bin/sh\n{says}\n")
        (peers / "peer-odd").chmod(0o755)
        done = run(*bench, f"--peers={peers}", "--json", limit=LIMIT_S)
        checks.check(done.status == 1 and any("peer-odd" in line and want in line for line in done.err.splitlines()),
                     f"mcc-bench, peer that does {says}: {done}")
        checks.check(json.loads(done.out)["rows"] == [], f"mcc-bench, peer that does {says}: {done.out}")


def stale_log(checks, args, folder):
    """A schedule that no longer applies is warned of on standard error; standard output is the JSON object alone."""
    shape = small_model(folder / "good.onnx")
    model = [folder / "good.onnx", *shape, "--target=x86-64-v3", "-o", folder / "out"]
    done = run(args.bin / "mcc-tune", *model, "--runner=sim", "--trials=16", "--quiet", f"--log={folder / 'log.db'}")
    checks.check(done.status == 0, f"tuning for a log: {done}")
    lines = [json.loads(line) for line in run(args.bin / "mcc-log", "export", folder / "log.db").out.splitlines()]
    for record in lines:
        record["trace"] = ["inline gone"]
    (folder / "stale.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lines))
    done = run(args.bin / "mcc-log", "import", folder / "stale.jsonl", "-o", folder / "stale.db")
    checks.check(done.status == 0, f"importing a stale log: {done}")
    for words, warned in (([], True), (["--quiet"], False)):
        done = run(args.bin / "mcc-compile", *model, "--json", f"--log={folder / 'stale.db'}", *words)
        checks.check(done.status == 0 and len(done.out.splitlines()) == 1 and done.out.startswith("{")
                     and ("no longer applies" in done.err) == warned, f"a stale log, {words}: {done.out} {done}")


def bad_logs(checks, args, folder):
    shape = small_model(folder / "good.onnx")
    (folder / "text.db").write_text("no log at all\n" * 1000)
    (folder / "empty.db").write_bytes(b"")
    (folder / "bad.jsonl").write_text('{"v":1,"id":"a"}\n')
    (folder / "junk.jsonl").write_text("hello\n")
    (folder / "newer.jsonl").write_text('{"v":99,"id":"a"}\n')
    with contextlib.closing(sqlite3.connect(folder / "other.db")) as other:
        other.execute("create table t (a)")
        other.commit()
    tune = [args.bin / "mcc-tune", folder / "good.onnx", *shape, "--runner=sim", "--trials=16", "--quiet", "-o",
            folder / "out"]
    for log in ("text.db", "other.db"):
        refused(checks, f"mcc-tune, log {log}", run(*tune, f"--log={folder / log}", limit=LIMIT_S))
    for log in ("text.db", "other.db", "empty.db", "none.db", "."):
        refused(checks, f"mcc-compile, log {log}",
                run(args.bin / "mcc-compile", folder / "good.onnx", *shape, "--quiet", "-o", folder / "out",
                    f"--log={folder / log}", limit=LIMIT_S))
        refused(checks, f"mcc-log show {log}", run(args.bin / "mcc-log", "show", folder / log, limit=LIMIT_S))
    for log in ("bad.jsonl", "junk.jsonl", "newer.jsonl", "none.jsonl"):
        refused(checks, f"mcc-log import {log}",
                run(args.bin / "mcc-log", "import", folder / log, "-o", folder / "made.db", limit=LIMIT_S))
    refused(checks, "mcc-tune, log is a folder", run(*tune, f"--log={folder}", limit=LIMIT_S))
    refused(checks, "mcc-tune, log below a file", run(*tune, f"--log={folder / 'text.db' / 'log.db'}", limit=LIMIT_S))
    refused(checks, "mcc-tune, log in /proc", run(*tune, "--log=/proc/log.db", limit=LIMIT_S))
    refused(checks, "mcc-log merge without -o", run(args.bin / "mcc-log", "merge", folder / "empty.db", limit=LIMIT_S))
    checks.check(not (folder / "out").exists() and not (folder / "made.db").exists(),
                 "a bad log gave an artifact or another log")
    done = run(*tune, f"--log={folder / 'log.db'}", limit=60)
    checks.check(done.status == 0, f"a good log: {done}")
    data = bytearray((folder / "log.db").read_bytes())
    shutil.rmtree(folder / "out")
    rng = random.Random(args.seed)
    for i in range(40 if args.full else 6):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 20, 400])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        log = folder / f"damaged{i}.db"
        log.write_bytes(damaged[: rng.randrange(len(damaged))] if i % 3 == 0 else damaged)
        done = run(args.bin / "mcc-log", "export", log, limit=LIMIT_S)
        checks.check(done.status in (0, 1, 2) and len(done.err.splitlines()) == (done.status != 0),
                     f"mcc-log export of a damaged log: {done}")


def bad_places(checks, args, folder):
    shape = small_model(folder / "good.onnx")
    (folder / "file").write_text("mine\n")
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("years of work\n")
    for out in ("file", "file/out", "none/out", "mine", "/proc/out", "/proc/self/fd/out"):
        where = out if out.startswith("/") else folder / out
        for tool, more in (("mcc-compile", []),
                           ("mcc-tune", ["--runner=sim", "--trials=8", f"--log={folder / 'log.db'}"])):
            before = tree(folder)
            done = run(args.bin / tool, folder / "good.onnx", *shape, "--quiet", "-o", where, *more, limit=LIMIT_S)
            refused(checks, f"{tool} -o {out}", done)
            left = set(tree(folder)) - set(before)
            checks.check(left <= ({"log.db"} if "proc" in out else set()), f"{tool} -o {out}: left {left}")
    checks.check((folder / "mine" / "thesis.txt").read_text() == "years of work\n", "a foreign file was changed")


def bad_tensors(checks, args, folder):
    shape = small_model(folder / "good.onnx")
    out = folder / "out"
    done = run(args.bin / "mcc-compile", folder / "good.onnx", *shape, "--target=host", "--quiet", "-o", out)
    if not checks.check(done.status == 0, f"compile: {done}"):
        return
    good = np.zeros((1, 3, 12, 12), np.float32)
    np.save(folder / "good.npy", good)
    np.save(folder / "wrong_shape.npy", good[:, :2])
    np.save(folder / "wrong_rank.npy", good[0])
    np.save(folder / "wrong_type.npy", good.astype(np.float64))
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "fortran.npy", np.asfortranarray(np.random.rand(1, 3, 12, 12).astype(np.float32)))
    np.save(folder / "big_endian.npy", good.astype(">f4"))
    data = (folder / "good.npy").read_bytes()
    (folder / "cut.npy").write_bytes(data[:-5])
    (folder / "cut_header.npy").write_bytes(data[:50])
    (folder / "long.npy").write_bytes(data + b"more")
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_text("1 2 3\n")
    huge = data.replace(b"(1, 3, 12, 12)", b"(1, 9999999999, 12, 12)")
    (folder / "huge.npy").write_bytes(huge[: len(data)])
    (folder / "minus.npy").write_bytes(data.replace(b"(1, 3, 12, 12), }", b"(1, -3, 12, 12), }"))
    run_it = [args.bin / "mcc-run", out, "--repeat=1"]
    done = run(*run_it, f"--input=x={folder / 'good.npy'}")
    checks.check(done.status == 0, f"a good input: {done}")
    for name in ("wrong_shape", "wrong_rank", "wrong_type", "objects", "big_endian", "cut", "cut_header", "empty",
                 "text", "huge", "minus", "none"):
        refused(checks, f"mcc-run, {name}.npy", run(*run_it, f"--input=x={folder / name}.npy", limit=LIMIT_S))
    for what, words in (("unknown input", [f"--input=z={folder / 'good.npy'}"]), ("no file", ["--input=x"]),
                        ("folder", [f"--input=x={folder}"]),
                        ("output below a file", [f"--output={folder / 'good.npy' / 'o'}"]),
                        ("no repeats", ["--repeat=0"]), ("too many threads", ["--threads=4096"]),
                        ("profile in no folder", [f"--profile={folder / 'none' / 'p.json'}"])):
        refused(checks, f"mcc-run, {what}", run(*run_it, *words, limit=LIMIT_S))
    rng = random.Random(args.seed)
    for i in range(100 if args.full else 15):
        mutant = bytearray(data)
        for _ in range(rng.choice([1, 3])):
            mutant[rng.randrange(128)] ^= 1 << rng.randrange(8)
        (folder / "mutant.npy").write_bytes(mutant)
        done = run(*run_it, f"--input=x={folder / 'mutant.npy'}", limit=LIMIT_S)
        checks.check(done.status == 0 or done.status == 2 and len(done.err.splitlines()) == 1,
                     f"npy mutant {i}: {done}")
    bad_artifacts(checks, args, folder, out)


def bad_artifacts(checks, args, folder, out):
    """mcc-run and mcc-verify on folders that are no artifact, or a damaged one."""
    manifest = (out / "manifest.json").read_text()
    (folder / "nothing").mkdir()
    cases = {"no_so": None, "no_json": "", "half_json": manifest[: len(manifest) // 2], "list": "[]",
             "empty_object": "{}", "elsewhere": manifest.replace("model.so", "none.so"),
             "deep": manifest.replace('"target": {', '"target": {"x": ' + "[" * 200_000 + "]" * 200_000 + ", ")}
    for name, change in (("smaller", {"shape": [1, 2], "bytes": 8}), ("huge", {"shape": [1 << 40, 1 << 40]}),
                         ("minus", {"shape": [1, -10]}), ("words", {"shape": "1x10"}), ("number", {"number": 1e30}),
                         ("strings", {"dtype": "string"}), ("renamed", {"name": "z"})):
        damaged = json.loads(manifest)
        damaged["outputs"][0].update(change)
        cases[name] = json.dumps(damaged)
    for name, text in cases.items():
        shutil.copytree(out, folder / name)
        if text is None:
            (folder / name / "model.so").unlink()
        else:
            (folder / name / "manifest.json").write_text(text)
    shutil.copytree(out, folder / "text_so")
    (folder / "text_so" / "model.so").write_text("no shared object\n")
    for name in [*cases, "text_so", "nothing", "never_made", "good.onnx"]:
        refused(checks, f"mcc-run on {name}", run(args.bin / "mcc-run", folder / name, limit=LIMIT_S))
        refused(checks, f"mcc-verify on {name}",
                run(args.bin / "mcc-verify", folder / "good.onnx", folder / name, limit=LIMIT_S))


def too_large(checks, args, folder):
    """Models that compile, and whose run takes more memory than any machine has: refused before any of it is taken."""
    info = helper.make_tensor_value_info
    huge, small = [1 << 41], [1]
    nodes = {"input": (helper.make_node("ThresholdedRelu", ["x"], ["y"], alpha=2.0), huge, []),
             "output": (helper.make_node("Expand", ["x", "shape"], ["y"]), small,
                        [numpy_helper.from_array(np.array(huge), "shape")])}
    for name, (node, shape, weights) in nodes.items():
        graph = helper.make_graph([node], name, [info("x", TensorProto.FLOAT, shape)],
                                  [info("y", TensorProto.FLOAT, huge)], weights)
        model, out = folder / f"{name}.onnx", folder / name
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), str(model))
        done = run(args.bin / "mcc-compile", model, "--target=host", "--quiet", "-o", out, limit=LIMIT_S)
        checks.check(done.status == 0, f"compiling a huge {name}: {done}")
        tune = ["--target=host", "--runner=local", "--trials=8", f"--log={folder / 'log.db'}", "-o", folder / "tuned"]
        for tool, words in (("mcc-run", [out]), ("mcc-verify", [model, out]), ("mcc-tune", [model, *tune])):
            done = run(args.bin / tool, *words, limit=LIMIT_S)
            refused(checks, f"{tool}, huge {name}", done)
            checks.check("GiB of memory, more than" in done.err, f"{tool}, huge {name}: {done}")
    checks.check(not (folder / "log.db").exists(), "a model too large to be measured left a log")


def mounted(folder, kib):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder)], capture_output=True,
                          text=True)
    return done.returncode == 0


def full_disks(checks, args, folder):
    """A log and an artifact without room: a limit on file sizes, and a tiny tmpfs where this user may mount one."""
    shape = small_model(folder / "good.onnx")
    tune = [args.bin / "mcc-tune", folder / "good.onnx", *shape, "--target=host", "--runner=sim", "--quiet",
            "--trials=400"]

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    done = run(*tune, f"--log={folder / 'limited.db'}", "-o", folder / "limited", preexec_fn=small_files)
    refused(checks, "log beyond the file size limit", done, (1, 2))
    checks.check(not (folder / "limited").exists(), "an artifact in spite of a failed log")
    checks.check(run(args.bin / "mcc-log", "stats", folder / "limited.db").status == 0,
                 "the log does not open after the file size limit struck")
    disk = folder / "disk"
    disk.mkdir()
    for kib in (8, 64, 160):
        if not mounted(disk, kib):
            print("full disk: skipped, this user may not mount a tmpfs", flush=True)
            return
        try:
            done = run(*tune, f"--log={disk / 'log.db'}", "-o", folder / f"out{kib}")
            refused(checks, f"log on a disk of {kib} KiB", done, (1, 2))
            checks.check(not (folder / f"out{kib}").exists(),
                         f"an artifact in spite of a failed log on a disk of {kib} KiB")
            if kib > 8:
                done = run(args.bin / "mcc-log", "export", disk / "log.db")
                checks.check(done.status == 0, f"the log does not open after its disk was full: {done}")
            done = run(args.bin / "mcc-compile", folder / "good.onnx", *shape, "--quiet", "-o", disk / "out")
            refused(checks, f"artifact on a full disk of {kib} KiB", done, (1, 2))
            checks.check([n for n in tree(disk) if not n.startswith("log.db")] == [],
                         f"left on the full disk: {tree(disk)}")
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    read_only_disk(checks, args, folder, disk)


def read_only_disk(checks, args, folder, disk):
    """Logs can be read from a disk that cannot be written; nothing else works there."""
    shape = small_model(folder / "good.onnx")
    if not mounted(disk, 4000):
        return
    try:
        tune = [args.bin / "mcc-tune", folder / "good.onnx", *shape, "--runner=sim", "--quiet"]
        done = run(*tune, "--trials=16", f"--log={disk / 'log 100%?.db'}", "-o", folder / "tuned")
        checks.check(done.status == 0 and tree(disk) == ["log 100%?.db"],
                     f"tuning onto a small disk: {done} {tree(disk)}")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        compiled = run(args.bin / "mcc-compile", folder / "good.onnx", *shape, "--json",
                       f"--log={disk / 'log 100%?.db'}", "-o", folder / "from_log")
        checks.check(compiled.status == 0 and '"tuned_tasks":0' not in compiled.out,
                     f"a log on a read-only disk: {compiled}")
        refused(checks, "mcc-tune, read-only log",
                run(*tune, "--trials=32", f"--log={disk / 'log 100%?.db'}", "-o", folder / "tuned"), (1, 2))
        refused(checks, "mcc-tune, new read-only log",
                run(*tune, "--trials=32", f"--log={disk / 'new.db'}", "-o", folder / "tuned"), (1, 2))
        refused(checks, "mcc-compile onto a read-only disk",
                run(args.bin / "mcc-compile", folder / "good.onnx", *shape, "--quiet", "-o", disk / "out"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def main():
    args = arguments(__doc__.splitlines()[0])
    checks = Checks()
    for part in (bad_models, bad_options, bad_benches, bad_logs, stale_log, bad_places, bad_tensors, too_large,
                 full_disks):
        with tempfile.TemporaryDirectory() as name:
            part(checks, args, pathlib.Path(name))
    checks.end()


if __name__ == "__main__":
    main()
