#!/usr/bin/python3
"""Tunes models one after the other, each into a log of its own, for mcc-bench --log=LOGS.

  bench/tune.py LOGS MODEL.onnx... [--trials=1000] [--time-budget=30m] [--threads=1] [--settings=FILE] [--bin=DIR]

Prints a line of a table for each model: measurements, how many a second, where the time went, default and tuned latency. LOGS/MODEL.json
holds what mcc-tune said; a model that has one is done, and only its line is printed. Started again, it goes on. --settings: shapes and bound inputs, as of mcc-bench. Run it on an otherwise idle machine.
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def options_of(settings, name):
    entry = settings.get(name, {})
    return [f"--shape={s}" for s in entry.get("shape", [])] + [f"--bind={b}" for b in entry.get("bind", [])]


def tune(args, settings, model):
    log = args.logs / model.stem
    said_file = args.logs / f"{model.stem}.json"
    if said_file.exists():
        print_row(model.stem, json.loads(said_file.read_text()))
        return True
    command = [args.bin / "mcc-tune", model, f"--threads={args.threads}", f"--trials={args.trials}",
               f"--time-budget={args.time_budget}", f"--log={log}.db", "--quiet", "--json", "-o", args.logs / "artifact",
               *options_of(settings, model.stem)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{model.stem}: {done.stderr.strip()}", file=sys.stderr)
        return False
    said_file.write_text(done.stdout)
    print_row(model.stem, json.loads(done.stdout))
    return True


def print_row(name, said):
    steps = said["seconds_by_step"]
    print(f"| {name} | {said['trials']} | {said['trials_per_second']:.1f} | "
          f"{steps['propose']:.0f} / {steps['build']:.0f} / {steps['measure']:.0f} | "
          f"{said['latency_ms_default']:.4g} | {said['latency_ms_tuned']:.4g} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--time-budget", default="30m")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--settings", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent / "build/bin")
    args = parser.parse_args()
    args.logs.mkdir(parents=True, exist_ok=True)
    settings = json.loads(args.settings.read_text()) if args.settings else {}
    print("| model | trials | a second | propose / build / measure s | default ms | tuned ms |\n|---|---|---|---|---|---|",
          flush=True)
    return 0 if all([tune(args, settings, model) for model in args.models]) else 1


if __name__ == "__main__":
    sys.exit(main())
