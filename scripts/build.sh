#!/usr/bin/env bash
# Builds mcc; the programs land in build/bin.
#   scripts/build.sh              release build in build/
#   scripts/build.sh --sanitize   AddressSanitizer and UndefinedBehaviorSanitizer (clang), in build-sanitize/
#   scripts/build.sh [--sanitize] TARGET...   only these CMake targets
set -euo pipefail
cd "$(dirname "$0")/.."

folder=build
options=(-DCMAKE_BUILD_TYPE=Release)
if [ "${1:-}" = --sanitize ]; then
  folder=build-sanitize
  options=(-DCMAKE_BUILD_TYPE=Debug -DMCC_SANITIZE=ON -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19)
  shift
fi
case "${1:-}" in
  -*) echo "build.sh: unknown option $1 (known: --sanitize)" >&2; exit 2 ;;
esac

cmake -S . -B "$folder" -G Ninja "${options[@]}" >"/dev/null"
cmake --build "$folder" ${1:+--target "$@"}
echo "built: $folder/bin"
