#!/usr/bin/env bash
# ONNX Runtime as a peer (see bench/peer.h for the command line); takes any model, so it needs no STEPS.json.
# bench/setup.sh puts it beside node_modules and bench_ort.mjs. --shape and --bind are mcc's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
model=$1
shift 2
options=()
for argument in "$@"; do
  value=${argument#*=}
  case "$argument" in
    --threads=*) options+=("$argument") ;;
    # Its first second is slower by a multiple: Node's memory for the outputs is new in each run until some is reused.
    --seconds=*) options+=("--min-seconds=$value" "--warmup-seconds=$(awk "BEGIN { print $value / 4 + 0.5 }")") ;;
    --shape=*) options+=("--shape=${value%:*}=${value##*:}") ;;
    --dim=*) options+=("$argument") ;;
    --bind=*) options+=("--fill=$value" "--shape=${value%%=*}=scalar") ;;
  esac
done
exec node "$here/bench_ort.mjs" --ort-dir="$here" "${options[@]}" "$model"
