#!/usr/bin/env python3
"""Latency of mcc artifacts against ONNX Runtime, interleaved in one run, as ratios.

    compare_ort.py MODEL.onnx... --ort-dir DIR [options]

Each model is compiled (or taken from --artifacts), then mcc and ONNX Runtime run alternately, each in a process of its
own, for --passes passes; minimum and median are kept and the ratio is mcc / ONNX Runtime (below 1: mcc is faster). The
multiply-add peak and the memory bandwidth are measured in the same run. Run it on an otherwise idle machine.

    --ort-dir DIR     folder with node_modules/onnxruntime-node (bench/install_ort.sh DIR makes one)
    --mcc DIR         folder of the mcc programs (default build/bin)
    --threads LIST    default 1
    --passes N        default 3
    --logs DIR        use the tuning log DIR/MODEL.db of each model where there is one
    --artifacts DIR   keep artifacts here (default: a temporary folder)
    --seconds S       of each timed run, default 0.7
    --json FILE       also write the rows there
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# What a model with free dimensions or known inputs needs; see scripts/fetch_models.sh.
SILERO = {"shape": ["input:1x576", "state:2x1x128"], "bind": ["sr=16000"]}
SETTINGS = {
    "ch_ppocr_mobile_v2.0_cls_infer": {"shape": ["x:1x3x48x192"]},
    "ch_PP-OCRv4_det_infer": {"shape": ["x:1x3x640x640"]},
    "ch_PP-OCRv4_rec_infer": {"shape": ["x:1x3x48x320"]},
    "silero_vad": SILERO, "silero_vad_16k_op15": SILERO, "silero_vad_op18_ifless": SILERO,
    "silero_vad_half": {"shape": ["input:1x576", "state:2x1x128"]},
}


def model_options(name):
    s = SETTINGS.get(name, {})
    return [f"--shape={v}" for v in s.get("shape", [])] + [f"--bind={v}" for v in s.get("bind", [])]


def ort_options(name):
    s = SETTINGS.get(name, {})
    shapes = [f"--shape={v.replace(':', '=')}" for v in s.get("shape", [])]
    fills = [f"--fill={v}" for v in s.get("bind", [])]
    scalars = [f"--shape={v.split('=')[0]}=scalar" for v in s.get("bind", [])]
    return shapes + fills + scalars


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.stdout


def machine_limits():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "peak"
        run(["cc", "-O2", "-march=native", str(HERE / "peak.c"), "-o", str(program)])
        return json.loads(run([str(program)]))


def time_mcc(mcc, artifact, threads, seconds):
    command = [str(mcc / "mcc-run"), str(artifact), "--json", f"--threads={threads}"]
    first = json.loads(run(command + ["--repeat=3"]))
    repeat = max(5, min(20000, int(seconds * 1e3 / max(first["min_ms"], 1e-3))))
    return json.loads(run(command + [f"--repeat={repeat}"]))


def time_ort(ort_dir, model, threads, seconds):
    out = run(["node", str(HERE / "bench_ort.mjs"), "--ort-dir", ort_dir, "--threads", str(threads),
               "--min-seconds", str(seconds), "--min-runs", "5", str(model)] + ort_options(model.stem))
    return json.loads(out.strip().splitlines()[-1])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("models", nargs="+", type=pathlib.Path)
    ap.add_argument("--ort-dir", required=True)
    ap.add_argument("--mcc", type=pathlib.Path, default=HERE.parent / "build" / "bin")
    ap.add_argument("--threads", default="1")
    ap.add_argument("--passes", type=int, default=3)
    ap.add_argument("--logs", type=pathlib.Path)
    ap.add_argument("--artifacts", type=pathlib.Path)
    ap.add_argument("--seconds", type=float, default=0.7)
    ap.add_argument("--json", type=pathlib.Path)
    args = ap.parse_args()
    keep = tempfile.TemporaryDirectory()
    folder = args.artifacts or pathlib.Path(keep.name)
    folder.mkdir(parents=True, exist_ok=True)

    limits = machine_limits()
    print(f"one thread: {limits['fma_gflops_best']} GFLOP/s multiply-add peak (median {limits['fma_gflops_median']}), "
          f"{limits['read_gbs']} GB/s read")
    print(f"{'model':<34} {'thr':>3} {'mcc min':>9} {'median':>9} {'ort min':>9} {'median':>9} {'ratio min':>9} "
          f"{'median':>7}", flush=True)
    rows, failed = [], 0
    for threads in [int(t) for t in args.threads.split(",")]:
        for model in args.models:
            name = model.stem
            artifact = folder / f"{name}.{threads}"
            try:
                log = args.logs / f"{name}.db" if args.logs else None
                run([str(args.mcc / "mcc-compile"), str(model), "--target=host", f"--threads={threads}",
                     "-o", str(artifact)]
                    + ([f"--log={log}"] if log and log.exists() else []) + model_options(name))
                mcc, ort = [], []
                for _ in range(args.passes):
                    mcc.append(time_mcc(args.mcc, artifact, threads, args.seconds))
                    ort.append(time_ort(args.ort_dir, model, threads, args.seconds))
            except (RuntimeError, json.JSONDecodeError) as error:
                failed += 1
                print(f"{name:<34} {threads:>3} {error}", flush=True)
                continue
            row = {"model": name, "threads": threads,
                   "mcc_min": min(r["min_ms"] for r in mcc),
                   "mcc_median": sorted(r["median_ms"] for r in mcc)[len(mcc) // 2],
                   "ort_min": min(r["min_ms"] for r in ort),
                   "ort_median": sorted(r["median_ms"] for r in ort)[len(ort) // 2]}
            row["ratio_min"] = row["mcc_min"] / row["ort_min"]
            row["ratio_median"] = row["mcc_median"] / row["ort_median"]
            rows.append(row)
            print(f"{name:<34} {threads:>3} {row['mcc_min']:9.4f} {row['mcc_median']:9.4f} {row['ort_min']:9.4f} "
                  f"{row['ort_median']:9.4f} {row['ratio_min']:9.3f} {row['ratio_median']:7.3f}", flush=True)
        mine = [r for r in rows if r["threads"] == threads]
        if mine:
            mean = {k: math.exp(sum(math.log(r[k]) for r in mine) / len(mine)) for k in ("ratio_min", "ratio_median")}
            print(f"geometric mean over {len(mine)} models, {threads} thread(s): min {mean['ratio_min']:.3f}, "
                  f"median {mean['ratio_median']:.3f}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"limits": limits, "rows": rows}, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
