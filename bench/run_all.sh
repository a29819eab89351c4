#!/usr/bin/env bash
# Networks, layers, start-up and tuning measured with one command; run it on an otherwise idle machine.
#   bench/run_all.sh [--quick] OUT_DIR [PEERS_DIR]     PEERS_DIR: made by bench/setup.sh; default OUT_DIR/peers, made when missing
#   --quick: one short pass of everything and 64 trials a network: whether it works here, and rough figures
# Writes OUT_DIR/NAME.txt (table), NAME.json and NAME.svg for
#   networks   untuned, one and two threads: the zoo, and trained models if scripts/fetch_models.sh put them into OUT_DIR/trained
#   ops        single layers, each kernel against the machine's limits
#   start_up   time to load and run once, resident memory
#   tuned      the networks again, after 1,000 trials each; one thread
# and OUT_DIR/tuning.txt (trials a second, where the time went), OUT_DIR/machine.txt. Tuning takes by far the longest.
set -euo pipefail
passes=3 seconds=0.7 op_seconds=0.2 trials=1000 budget=30m
if [ "${1:-}" = --quick ]; then
  passes=1 seconds=0.1 op_seconds=0.05 trials=64 budget=1m
  shift
fi
case "${1:--}" in -*) echo "usage: run_all.sh [--quick] OUT_DIR [PEERS_DIR]" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
peers=${2:-$out/peers}
bin=$here/../build/bin
[ -d "$peers" ] || bash "$here/setup.sh" "$peers"
[ -d "$out/zoo" ] || /usr/bin/python3 "$here/../scripts/make_zoo.py" "$out/zoo"
[ -d "$out/zoo_ops" ] || /usr/bin/python3 "$here/../scripts/make_zoo.py" --ops "$out/zoo_ops"
{ grep -m1 'model name' /proc/cpuinfo; nproc; "$peers/peak"; "$peers/dispatch"; } >"$out/machine.txt"

status=0
models=("$out"/zoo/*.onnx)
if [ -d "$out/trained" ]; then models+=("$out"/trained/*.onnx); fi
compare() {  # NAME OPTION... : one table; a model that fails is told in it and in the exit status
  local name=$1
  shift
  "$bin/mcc-bench" "$@" --peers="$peers" --settings="$here/models.json" --plot="$out/$name.svg" --json \
    >"$out/$name.json" 2> >(tee "$out/$name.txt" >&2) || status=1
}
compare networks "${models[@]}" --peer=onnxruntime --threads=1,2 --passes=$passes --seconds=$seconds
compare ops "$out"/zoo_ops/*.onnx --kernels --passes=$passes --seconds=$op_seconds
compare start_up "$out"/zoo/{resnet50,mobilenet_v2,ds_cnn}.onnx --peer=onnxruntime --start-up --passes=$passes --seconds=$seconds
"$here/tune.py" "$out/logs" "${models[@]}" --threads=1 --trials=$trials --time-budget=$budget --settings="$here/models.json" | tee "$out/tuning.txt" || status=1
compare tuned "${models[@]}" --log="$out/logs" --peer=onnxruntime --threads=1 --passes=$passes --seconds=$seconds
exit $status
