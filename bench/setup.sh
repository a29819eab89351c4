#!/usr/bin/env bash
# Makes a folder of peers for mcc-bench --peers=DIR: ONNX Runtime (npm), oneDNN and OpenBLAS (Debian), and the programs
# that measure this machine's limits and what a second thread costs. Each peer is an executable DIR/peer-NAME; add your
# own in the same way.
#   bench/setup.sh DIR [ORT_DIR]     ORT_DIR: a folder that has node_modules/onnxruntime-node already
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: setup.sh DIR [ORT_DIR]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)

"$here/../scripts/setup.sh" --bench
if [ $# -ge 2 ]; then
  ln -sfn "$(cd "$2" && pwd)/node_modules" "$folder/node_modules"
else
  bash "$here/install_ort.sh" "$folder"
fi
cp "$here/bench_ort.mjs" "$here/ort_inputs.mjs" "$folder/"
cp "$here/peer_onnxruntime.sh" "$folder/peer-onnxruntime"
chmod +x "$folder/peer-onnxruntime"
flags=(-O3 -march=native -Wall -Wextra)
c++ -std=c++17 "${flags[@]}" -fopenmp "$here/peer_onednn.cc" -o "$folder/peer-onednn" -ldnnl
c++ -std=c++17 "${flags[@]}" "$here/peer_openblas.cc" -o "$folder/peer-openblas" -lopenblas
cc "${flags[@]}" "$here/peak.c" -o "$folder/peak"
cc "${flags[@]}" -pthread -I"$here/../src" "$here/dispatch.c" "$here/../src/runtime/"{threads,wait,serial}.c \
  -o "$folder/dispatch"
echo "setup: peers are in $folder"
