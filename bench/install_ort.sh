#!/usr/bin/env bash
# Installs ONNX Runtime for comparison: the npm package onnxruntime-node, pinned, into DIR/node_modules.
#   bench/install_ort.sh DIR
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: install_ort.sh DIR" >&2; exit 2; }
command -v npm >/dev/null || { echo "install_ort.sh: npm is not installed (scripts/setup.sh --npm)" >&2; exit 3; }
mkdir -p "$1"
cd "$1"
[ -d node_modules/onnxruntime-node ] || npm install --silent --no-save --ignore-scripts onnxruntime-node@1.30.0
