#!/usr/bin/python3
"""Tables for docs/RESULTS.md, from what bench/run_all.sh wrote.

  bench/tables.py OUT      prints markdown; parts of the run that are not there are left out

A ratio is mcc's time over that of the fastest peer in the same run: below 1 mcc is faster. Times are milliseconds, the least and the
median of all passes.
"""
import json
import math
import pathlib
import sys


def ms(value):
    return f"{value:.4f}" if value < 1 else f"{value:.3f}" if value < 10 else f"{value:.2f}"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def side_of(row, name):
    return next((side for side in row["sides"] if side["name"] == name), None)


def mean_rows(rows, names, label, columns):
    """One line of the table for each of least and median ratio over the models of these names."""
    mine = [row for row in rows if row["model"] in names and "ratio_min" in row]
    if not mine:
        return []
    cells = [f"**{geometric_mean([row[key] for row in mine]):.3f}**" for key in ("ratio_min", "ratio_median")]
    worst = max(mine, key=lambda row: row["ratio_min"])
    return [[f"**geometric mean, {len(mine)} {label}** (worst {worst['ratio_min']:.3f}, {worst['model']})"] + [""] * columns + cells]


def thread_counts(report):
    """Each number of threads, and how a title names it."""
    return [(n, f"{n} thread{'s' if n > 1 else ''}") for n in sorted({row["threads"] for row in report["rows"]})]


def stems(folder):
    return {file.stem for file in folder.glob("*.onnx")}


def networks(out, report, threads, logs=None):
    rows = [row for row in report["rows"] if row["threads"] == threads]
    tuned = ["default -> tuned"] if logs else []
    table = []
    for row in rows:
        mcc, peer = side_of(row, "mcc"), side_of(row, "onnxruntime")
        times = [ms(side[key]) if side else "" for side in (mcc, peer) for key in ("min_ms", "median_ms")]
        cells = [row["model"]] + times + [f"{row[key]:.3f}" if key in row else "" for key in ("ratio_min", "ratio_median")]
        if logs:
            said = logs.get(row["model"])
            cells.insert(5, f"{ms(said['latency_ms_default'])} -> {ms(said['latency_ms_tuned'])}" if said else "")
        table.append(cells)
    columns = 5 if logs else 4
    table += mean_rows(rows, stems(out / "zoo"), "networks", columns) + mean_rows(rows, stems(out / "trained"), "trained models", columns)
    print_table(["model", "mcc min", "median", "ORT min", "median"] + tuned + ["ratio min", "median"], table)


def layers(report, threads):
    table, peers = [], ["onednn", "onnxruntime", "openblas"]
    rows = [row for row in report["rows"] if row["threads"] == threads]
    peak = report["fma_gflops"] * threads
    for row in rows:
        mcc = side_of(row, "mcc")
        times = [ms(side["min_ms"]) if side else "" for side in (side_of(row, p) for p in peers)]
        heaviest = max(row["kernels"], key=lambda k: k["min_ms"], default=None) if "kernels" in row else None
        share = f"{heaviest['flops'] / heaviest['min_ms'] / 1e6 / peak:.0%}" if heaviest and heaviest["flops"] else ""
        ratios = [f"{row[key]:.3f}" if key in row else "" for key in ("ratio_min", "ratio_median")]
        table.append([row["model"], ms(mcc["min_ms"])] + times + [share] + ratios)
    table += mean_rows(rows, {row["model"] for row in rows}, "layers", 5)
    print_table(["layer", "mcc", "oneDNN", "ORT", "OpenBLAS", "of peak", "ratio min", "median"], table)


def start_up(report):
    table = []
    for row in report["rows"]:
        first = [side["load_ms"] + side["first_ms"] for side in (side_of(row, "mcc"), side_of(row, "onnxruntime"))]
        resident = row["resident"]
        table.append([row["model"]] + [f"{value:.2f}" for value in first] + [f"{first[0] / first[1]:.3f}", str(resident["peak_kib"]),
                                                                           str(resident["needed_kib"])])
    print_table(["model", "mcc load + first run", "ORT", "ratio", "resident KiB", "weights, arena, inputs, outputs KiB"], table)


def tuning(logs):
    table = []
    for name, said in logs.items():
        steps = said["seconds_by_step"]
        table.append([name, str(said["trials"]), f"{said['trials_per_second']:.1f}",
                      " / ".join(f"{steps[s]:.0f}" for s in ("propose", "build", "measure"))])
    print_table(["model", "trials", "a second", "propose / build / measure s"], table)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tables.py OUT")
    out = pathlib.Path(sys.argv[1])
    report = {file.stem: json.loads(file.read_text()) for file in out.glob("*.json") if file.stat().st_size}
    logs = {file.stem: json.loads(file.read_text()) for file in sorted((out / "logs").glob("*.json"))}

    def head(title, part):
        print(f"## {title}\n")
        if part in report:
            limits = report[part]
            print(f"Multiply-add peak {limits['fma_gflops']:.0f} GFLOP/s, reading memory {limits['read_gbs']:.1f} GB/s, one thread, in this run.\n")

    if "networks" in report:
        for threads, said in thread_counts(report["networks"]):
            head(f"Networks, untuned, {said}", "networks")
            networks(out, report["networks"], threads)
    if "tuned" in report:
        head("Networks, tuned, 1 thread", "tuned")
        networks(out, report["tuned"], 1, logs)
    if "ops" in report:
        for threads, said in thread_counts(report["ops"]):
            head(f"Single layers, untuned, {said}", "ops")
            layers(report["ops"], threads)
    if "start_up" in report:
        head("Start-up and memory, 1 thread", "start_up")
        start_up(report["start_up"])
    if logs:
        head("Tuning speed", "")
        tuning(logs)
    for name, title in (("search", "Search"), ("ablation", "What each part of the search is worth")):
        if (out / f"{name}.txt").exists():
            print(f"## {title}\n\n{(out / f'{name}.txt').read_text()}")


if __name__ == "__main__":
    main()
