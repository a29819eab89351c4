#!/usr/bin/env bash
# Networks, layers, start-up and tuning measured with one command; run it on an otherwise idle machine.
#   bench/run_all.sh OUT_DIR [PEERS_DIR]     PEERS_DIR: made by bench/setup.sh; default OUT_DIR/peers, made when missing
# Writes OUT_DIR/NAME.txt (table), NAME.json and NAME.svg for
#   networks   the zoo, untuned, one and two threads        ops       single layers, each kernel against the machine's limits
#   trained    trained models, if scripts/fetch_models.sh put them into OUT_DIR/trained
#   start_up   time to load and run once, resident memory   tuned     the zoo again, after 1,000 trials a network; one thread
# and OUT_DIR/tuning.txt (trials a second, where the time went), OUT_DIR/machine.txt. Tuning takes by far the longest, an hour or two.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: run_all.sh OUT_DIR [PEERS_DIR]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
peers=${2:-$out/peers}
bin=$here/../build/bin
[ -d "$peers" ] || bash "$here/setup.sh" "$peers"
[ -d "$out/zoo" ] || python3 "$here/../scripts/make_zoo.py" "$out/zoo"
[ -d "$out/zoo_ops" ] || python3 "$here/../scripts/make_zoo.py" --ops "$out/zoo_ops"
{ grep -m1 'model name' /proc/cpuinfo; nproc; "$peers/peak"; "$peers/dispatch"; } >"$out/machine.txt"

status=0
compare() {  # NAME OPTION... : one table; a model that fails is told in it and in the exit status
  local name=$1
  shift
  "$bin/mcc-bench" "$@" --peers="$peers" --settings="$here/models.json" --plot="$out/$name.svg" --json \
    >"$out/$name.json" 2> >(tee "$out/$name.txt" >&2) || status=1
}
compare networks "$out"/zoo/*.onnx --peer=onnxruntime --threads=1,2 --passes=3 --seconds=0.7
compare ops "$out"/zoo_ops/*.onnx --kernels --passes=3 --seconds=0.2
[ -d "$out/trained" ] && compare trained "$out"/trained/*.onnx --peer=onnxruntime --threads=1,2 --passes=3 --seconds=0.7
compare start_up "$out"/zoo/{resnet50,mobilenet_v2,ds_cnn}.onnx --peer=onnxruntime --start-up --passes=3 --seconds=0.3
"$here/tune.py" "$out/logs" "$out"/zoo/*.onnx --threads=1 --trials=1000 --time-budget=30m | tee "$out/tuning.txt" || status=1
compare tuned "$out"/zoo/*.onnx --log="$out/logs" --peer=onnxruntime --threads=1 --passes=3 --seconds=0.7
exit $status
