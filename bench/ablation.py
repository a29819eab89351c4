#!/usr/bin/python3
"""What each part of the search is worth: six workloads, tuned with one part more each time; the best latency after 64, 300
(and, with --trials=1000, 1,000) measurements, relative to the best that any of the runs found.

  bench/ablation.py MODELS_DIR OUT_DIR [--trials=N] [--seeds=1,2] [--train-on=LOG.db... | --cost-model=FILE] [--bin=DIR]

MODELS_DIR: single layers by scripts/make_zoo.py --ops. The row "+ transfer" starts from a log of other layers (64 trials each),
the row "+ shipped model" from a cost model trained on the logs of --train-on without these layers, else the judge would have seen
the answers; or from the one given (default: the one that ships, which has seen such layers). Runs are kept in OUT_DIR/*.db: started again, it goes on. Run it on an otherwise idle machine.
"""
import argparse
import json
import math
import pathlib
import shutil
import sqlite3
import subprocess
import sys

WORKLOADS = ["conv_56x56x64_64_3x3_s1", "conv_28x28x256_256_3x3_s2", "conv_14x14x1024_256_1x1_s1",
             "dwconv_56x56x128_3x3_s1", "gemm_128x768x3072", "matmul_1024x1024x1024"]
# What the names of their tasks contain.
TASKS = ["56x56x64 -> 64 3x3 s1", "28x28x256 -> 256 3x3 s2", "14x14x1024 -> 256 1x1", "56x56x128 -> 128 3x3 s1 g128",
         "128x768x3072", "1024x1024x1024"]
DONORS = ["conv_28x28x128_128_3x3_s1", "conv_56x56x128_128_3x3_s2", "conv_28x28x512_256_1x1_s1",
          "dwconv_28x28x256_3x3_s1", "gemm_128x768x768", "matmul_pv_12x128x64x128"]
# Name of the row, --cost-model, --without.
ROWS = [("random", "none", "evolution,draft,descent,transfer"),
        ("evolution", "none", "draft,descent,transfer"),
        ("+ cost model", "fresh", "draft,descent,transfer"),
        ("+ draft", "fresh", "descent,transfer"),
        ("+ descent", "fresh", "transfer"),
        ("+ transfer", "fresh", ""),
        ("+ shipped model", "shipped", "")]


def tune(args, model, log, trials, seed, cost_model, without):
    command = [args.bin / "mcc-tune", str(model), "--threads=1", f"--trials={trials}", f"--seed={seed}", f"--log={log}", "--quiet",
               f"--cost-model={cost_model}", "-o", str(args.out / "artifact")]
    if without:
        command.append(f"--without={without}")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def train_without_workloads(args):
    model = args.out / "without.forest"
    if not model.exists():
        command = [args.bin / "mcc-log", "train", *args.train_on, "-o", model]
        for task in TASKS:
            command += ["--except", task]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return str(model)


def best_after(log, seed, counts):
    """Seconds of the sum over tasks, of the fastest so far, after so many measurements of this run."""
    best, after = {}, {}
    rows = sqlite3.connect(log).execute("SELECT line FROM records ORDER BY n").fetchall()
    records = [r for r in map(lambda row: json.loads(row[0]), rows) if r["seed"] == seed]
    for done, record in enumerate(records, 1):
        if record["outcome"] == "ok":
            seconds = min(record["seconds"])
            best[record["task"]] = min(seconds, best.get(record["task"], math.inf))
        for count in counts:
            if done == count:
                after[count] = sum(best.values())
    for count in counts:
        after.setdefault(count, sum(best.values()))  # the space was exhausted before
    return after


def run(args, counts):
    donors = args.out / "donors.db"
    for name in DONORS:
        model = args.models / f"{name}.onnx"
        if model.exists():
            tune(args, model, donors, 64, 1000, "fresh", "")
    found = {}
    for workload in args.workloads:
        for row, (name, cost_model, without) in enumerate(ROWS):
            for seed in args.seeds:
                log = args.out / f"{workload}.{row}.{seed}.db"
                if not log.exists() and "transfer" not in without:
                    shutil.copy(donors, log)
                model = args.cost_model if cost_model == "shipped" else cost_model
                tune(args, args.models / f"{workload}.onnx", log, args.trials, seed, model, without)
                found[workload, row, seed] = best_after(log, seed, counts)
                shown = ", ".join(f"{c}: {found[workload, row, seed][c] * 1e3:.4f} ms" for c in counts)
                print(f"{workload} {name} seed {seed}: {shown}", file=sys.stderr)
    return found


def table(args, counts, found):
    print("| search | " + " | ".join(f"after {c}" for c in counts) + " |\n|---|" + "---|" * len(counts))
    for row, (name, _, _) in enumerate(ROWS):
        cells = []
        for count in counts:
            logs = []
            for workload in args.workloads:
                best = min(v[counts[-1]] for (w, _, _), v in found.items() if w == workload)
                logs += [math.log(found[workload, row, seed][count] / best) for seed in args.seeds]
            cells.append(f"{math.exp(sum(logs) / len(logs)):.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[1])
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=WORKLOADS)
    parser.add_argument("--cost-model", default="shipped")
    parser.add_argument("--train-on", type=pathlib.Path, nargs="+")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build/bin")
    args = parser.parse_args()
    missing = [w for w in args.workloads if not (args.models / f"{w}.onnx").exists()]
    if missing:
        parser.error(f"{args.models} holds no {missing[0]}.onnx (scripts/make_zoo.py --ops)")
    args.out.mkdir(parents=True, exist_ok=True)
    if args.train_on:
        args.cost_model = train_without_workloads(args)
    counts = sorted({c for c in (64, 300, 1000) if c <= args.trials} | {args.trials})
    table(args, counts, run(args, counts))


if __name__ == "__main__":
    main()
