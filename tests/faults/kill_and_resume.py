#!/usr/bin/python3
"""Kill a tuning run at random moments and start it again: no record lost, none twice, log and artifact are right.

    kill_and_resume.py [--bin=DIR] [--full] [--seed=S]

Kills are SIGKILL to the tuner alone, anywhere between its start and its end (importing, building, measuring, writing
the log, writing the artifact).  The records in the log right after each kill must be there, in this order, after all
later runs.  Then the same with Ctrl-C, sent as a terminal does it, to the whole process group: exit status 130, the log keeps
what was measured, the best so far is written, and no latency is told that was not measured.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

from faults import Checks, arguments, records, run, small_model, tree

TRIALS = 120


def command(args, folder, runner, trials=TRIALS):
    return [args.bin / "mcc-tune", folder / "small.onnx", "--shape=x:1x3x12x12", "--target=host", "--threads=1",
            f"--trials={trials}", f"--runner={runner}", f"--log={folder / 'log.db'}", "-o", folder / "out", "--json"]


def start(line, **options):
    return subprocess.Popen([str(c) for c in line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def wait_for_log(process, log, limit=30):
    """Until the run has made its log (or has ended)."""
    end = time.time() + limit
    while process.poll() is None and not log.exists() and time.time() < end:
        time.sleep(0.01)


def verify(checks, args, folder, what):
    done = run(args.bin / "mcc-verify", folder / "small.onnx", folder / "out")
    checks.check(done.status == 0, f"{what}: the artifact is not right: {done}")


def kills(checks, args, runner, count, span):
    """`count` kills, each up to `span` seconds after the log was opened, then one undisturbed run."""
    rng = random.Random(f"{args.seed} {runner}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        small_model(folder / "small.onnx")
        log = folder / "log.db"
        known, trials = [], TRIALS
        for k in range(count):
            process = start(command(args, folder, runner, trials))
            if rng.random() < 0.85:
                wait_for_log(process, log)
            time.sleep(rng.random() * span)
            ended = process.poll()
            process.kill()
            process.communicate()
            if ended is not None:  # the run was faster than the kill: the next one has more to do
                checks.check(ended == 0, f"{runner}, run {k}: exit status {ended}")
                trials += TRIALS
            if not log.exists():
                continue
            now = records(args.bin, log)
            if not checks.check(now is not None, f"{runner}, kill {k}: the log does not open"):
                return
            ids = [r["id"] for r in now]
            checks.check(ids[: len(known)] == known, f"{runner}, kill {k}: records were lost or moved")
            checks.check(len(set(ids)) == len(ids), f"{runner}, kill {k}: a record is there twice")
            known = ids
        done = run(*command(args, folder, runner, trials), limit=300)
        if not checks.check(done.status == 0, f"{runner}: the last run: {done}"):
            return
        now = records(args.bin, log)
        checks.check([r["id"] for r in now][: len(known)] == known, f"{runner}: the last run lost records")
        summary = json.loads(done.out)
        checks.check(summary["trials"] == len(now) == len({r["id"] for r in now}),
                     f"{runner}: {summary['trials']} trials, {len(now)} records")
        pairs = {(r["task"], json.dumps(r["trace"])) for r in now}
        checks.check(len(pairs) == len(now), f"{runner}: a candidate was measured twice")
        verify(checks, args, folder, runner)
        left = [entry for entry in tree(folder) if "/" not in entry and ".mcc-stage" not in entry]
        checks.check(set(left) <= {"log.db", "out", "small.onnx"}, f"{runner}: left behind: {left}")
        print(f"{runner}: {count} kills, {len(now)} records", flush=True)


def interrupt(checks, args, runner, delay):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        small_model(folder / "small.onnx")
        process = start(command(args, folder, runner, trials=100000), start_new_session=True)
        wait_for_log(process, folder / "log.db")
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            checks.check(False, f"{runner}: Ctrl-C after {delay:.1f} s did not end the run within 60 s")
            return
        checks.check(process.returncode == 130,
                     f"{runner}: Ctrl-C gives exit status {process.returncode}: {err[-300:]!r}")
        now = records(args.bin, folder / "log.db")
        if not checks.check(now is not None, f"{runner}: the log does not open after Ctrl-C"):
            return
        checks.check(all(r["outcome"] == "ok" for r in now), f"{runner}: Ctrl-C was taken for a failure of a candidate")
        summary = json.loads(out) if out.strip() else {}
        told = summary.get("latency_ms_default"), summary.get("latency_ms_tuned")
        checks.check(all(ms is None or ms > 0 for ms in told), f"{runner}: after Ctrl-C the latencies are {told}")
        checks.check(summary.get("interrupted") is True and summary["trials"] == len(now),
                     f"{runner}: the summary after Ctrl-C: {out[:300]!r}")
        checks.check(set(tree(folder)) >= {"out/manifest.json", "out/model.so"}, f"{runner}: no artifact after Ctrl-C")
        verify(checks, args, folder, f"{runner}, Ctrl-C")


def everything(checks, args):
    kills(checks, args, "sim", 20 if args.full else 3, span=1.5)
    kills(checks, args, "local", 20 if args.full else 2, span=8)
    rng = random.Random(args.seed)
    for runner, delay in (("sim", 0.3), ("local", 1.5)):
        for _ in range(5 if args.full else 1):
            interrupt(checks, args, runner, delay * (0.5 + rng.random()))


def main():
    args = arguments(__doc__.splitlines()[0])
    checks = Checks()
    with tempfile.TemporaryDirectory() as scratch:  # what killed runs leave in it goes with it
        os.environ["TMPDIR"] = scratch
        everything(checks, args)
    checks.end()


if __name__ == "__main__":
    main()
