#!/usr/bin/env bash
# The tables of networks, layers, start-up, tuning and search of docs/RESULTS.md, measured with one command; run it on an
# otherwise idle machine. The others name their commands.
#   bench/run_all.sh [--quick] OUT_DIR [PEERS_DIR]     PEERS_DIR: made by bench/setup.sh; default OUT_DIR/peers, made when missing
#   --quick: one short pass of everything and few trials: whether it works here, and rough figures
# Writes OUT_DIR/RESULTS.md (bench/tables.py), and OUT_DIR/NAME.json, NAME.txt and NAME.svg for
#   networks   untuned, one and two threads: the zoo, and trained models if scripts/fetch_models.sh put them into OUT_DIR/trained
#   ops        single layers, one and two threads, each kernel against the machine's limits
#   start_up   time to load and run once, resident memory
#   tuned      the networks again, after 1,000 trials or 30 minutes each; one thread
# and search.txt (ten layers: best latency after so many trials, cost model), ablation.txt (six layers, parts of the search).
# A part that is already there is kept: started again, it goes on. Tuning and the ablation take by far the longest.
set -euo pipefail
passes=3 seconds=0.7 op_seconds=0.2 trials=1000 layer_trials=1000 budget=30m
if [ "${1:-}" = --quick ]; then
  passes=1 seconds=0.1 op_seconds=0.05 trials=48 layer_trials=64 budget=15s
  shift
fi
case "${1:--}" in -*) echo "usage: run_all.sh [--quick] OUT_DIR [PEERS_DIR]" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
peers=${2:-$out/peers}
bin=$here/../build/bin
[ -d "$peers" ] || bash "$here/setup.sh" "$peers"
[ -d "$out/zoo" ] || "$here/../scripts/make_zoo.py" "$out/zoo"
[ -d "$out/zoo_ops" ] || "$here/../scripts/make_zoo.py" --ops "$out/zoo_ops"
models=("$out"/zoo/*.onnx)
if [ -d "$out/trained" ]; then models+=("$out"/trained/*.onnx); fi
searched=(conv_14x14x1024_256_1x1_s1 conv_14x14x256_256_3x3_s1 conv_28x28x256_256_3x3_s2 conv_56x56x64_256_1x1_s1 conv_56x56x64_64_3x3_s1
  dwconv_14x14x512_3x3_s1 dwconv_56x56x128_3x3_s1 gemm_128x768x768 maxpool_112x112x64_3x3_s2 softmax_12x128x128)

status=0
write() {  # FILE COMMAND... : its standard output, kept whole or not at all
  local file=$1
  shift
  [ ! -e "$file" ] || return 0
  if "$@" >"$file.part"; then mv "$file.part" "$file"; else status=1; fi
}
compare() {  # NAME OPTION... : one table; a model that fails is told in it and in the exit status
  local name=$1
  shift
  [ ! -e "$out/$name.json" ] || return 0
  "$bin/mcc-bench" "$@" --peers="$peers" --settings="$here/models.json" --plot="$out/$name.svg" --json \
    >"$out/$name.part" 2> >(tee "$out/$name.txt" >&2) || status=1
  mv "$out/$name.part" "$out/$name.json"
}
tune() {  # LOGS TRIALS MODEL...
  "$here/tune.py" "$1" "${@:3}" --threads=1 --trials="$2" --time-budget=$budget --settings="$here/models.json" || status=1
}

{ grep -m1 'model name' /proc/cpuinfo; echo "$(nproc) processors"; "$peers/peak"; "$peers/dispatch"; } >"$out/machine.txt"
compare networks "${models[@]}" --peer=onnxruntime --threads=1,2 --passes=$passes --seconds=$seconds
compare ops "$out"/zoo_ops/*.onnx --kernels --threads=1,2 --passes=$passes --seconds=$op_seconds
compare start_up "$out"/zoo/{resnet50,mobilenet_v2,ds_cnn}.onnx --peer=onnxruntime --start-up --passes=$passes --seconds=$seconds
tune "$out/logs" $trials "${models[@]}"
compare tuned "${models[@]}" --log="$out/logs" --peer=onnxruntime --threads=1 --passes=$passes --seconds=$seconds
layers=("${searched[@]/%/.onnx}") logs=("${searched[@]/%/.db}")
tune "$out/layer_logs" $layer_trials "${layers[@]/#/$out/zoo_ops/}"
write "$out/search.txt" "$here/search_curve.py" "${logs[@]/#/$out/layer_logs/}"
write "$out/ablation.txt" "$here/ablation.py" "$out/zoo_ops" "$out/ablation" --trials=$layer_trials --train-on "$out"/logs/*.db
rm -f "$out/RESULTS.md"
write "$out/RESULTS.md" "$here/tables.py" "$out"
exit $status
