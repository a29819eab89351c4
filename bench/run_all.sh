#!/usr/bin/env bash
# Networks, layers, start-up and tuning measured with one command; run it on an otherwise idle machine.
#   bench/run_all.sh OUT_DIR [PEERS_DIR]     PEERS_DIR: made by bench/setup.sh; default OUT_DIR/peers, made when missing
# Writes OUT_DIR/NAME.txt (table), NAME.json and NAME.svg for
#   networks   the zoo, untuned, one and two threads        ops       single layers, each kernel against the machine's limits
#   trained    trained models, if scripts/fetch_models.sh put them into OUT_DIR/trained
#   start_up   time to load and run once, resident memory   tuning    trials a second, default and tuned latency (JSON only)
# and OUT_DIR/machine.txt.
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
{ grep -m1 'model name' /proc/cpuinfo; nproc; "$peers/peak"; } >"$out/machine.txt"

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
"$bin/mcc-tune" "$out/zoo/resnet50.onnx" --target=host --threads=1 --trials=320 --log="$out/tuning.db" --fresh --quiet --json \
  -o "$out/tuning.artifact" >"$out/tuning.json" || status=1
exit $status
