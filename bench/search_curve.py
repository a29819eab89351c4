#!/usr/bin/python3
"""How soon a search finds what it finds: for each log of one layer the best latency after 1, 64, 128 and 300 measurements of its
heaviest task, relative to the best of all of them, and how well the cost model foresaw each next batch.

  bench/search_curve.py LOG.db... [--bin=DIR]

Logs by bench/tune.py with models of scripts/make_zoo.py --ops. Prints a table (markdown).
"""
import argparse
import collections
import json
import pathlib
import sqlite3
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = [1, 64, 128, 300]


def records_of_heaviest_task(log):
    """In the order of measurement: those of the task that was measured most."""
    tasks = collections.defaultdict(list)
    for (line,) in sqlite3.connect(f"file:{log}?mode=ro", uri=True).execute("SELECT line FROM records ORDER BY n"):
        record = json.loads(line)
        tasks[record["task"]].append(record)
    return max(tasks.values(), key=len)


def cost_model(programs, log):
    """What mcc-log stats says; nothing for a search too short to judge it."""
    said = subprocess.run([programs / "mcc-log", "stats", "--json", log], check=True, capture_output=True, text=True)
    return json.loads(said.stdout)["logs"][0].get("cost_model")


def best_so_far(records):
    best, curve = float("inf"), []
    for record in records:
        if record["outcome"] == "ok":
            best = min(best, *record["seconds"])
        curve.append(best)
    return curve


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=pathlib.Path, nargs="+")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent / "build/bin")
    args = parser.parse_args()
    print("| layer | measurements | " + " | ".join("first" if n == 1 else f"after {n}" for n in COUNTS) +
          " | best ms | cost model: accuracy | recall |\n|---|---|" + "---|" * (len(COUNTS) + 3))
    long, foreseen = [], []  # searches that went on after the last count: was it enough
    for log in args.logs:
        curve = best_so_far(records_of_heaviest_task(log))
        after = [curve[n - 1] / curve[-1] for n in COUNTS if n <= len(curve)]
        if len(curve) > COUNTS[-1]:
            long.append(after[-1] <= 1.05)
        model = cost_model(args.bin, log)
        if model:
            foreseen.append((model["pairwise_accuracy"], model["recall"]))
        shown = [f"{a:.3f}" for a in after] + [""] * (len(COUNTS) - len(after)) + [f"{curve[-1] * 1e3:.4f}"] + (
            [f"{v:.3f}" for v in foreseen[-1]] if model else ["", ""])
        print(f"| {log.stem} | {len(curve)} | " + " | ".join(shown) + " |")
    print(f"\nOf {len(long)} searches of more than {COUNTS[-1]} measurements {sum(long)} were within 5 % of their best after {COUNTS[-1]}.", end="")
    if foreseen:
        accuracy, recall = (sum(column) / len(foreseen) for column in zip(*foreseen))
        print(f" Cost model on the next batch, mean of {len(foreseen)}: accuracy {accuracy:.3f}, recall {recall:.3f}.", end="")
    print()


if __name__ == "__main__":
    main()
