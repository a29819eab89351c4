#!/usr/bin/env bash
# Fuzzes everything that parses bytes from outside (tests/fuzz), with the sanitizers on, in build-fuzz/.
#   scripts/fuzz.sh [SECONDS] [TARGET...]      default: 30 seconds for each target
# What libFuzzer finds lands in build-fuzz/findings/TARGET-*; run build-fuzz/bin/fuzz_TARGET FILE to see one again.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-30}
case "$seconds" in
  *[!0-9]*) sed -n '3,4s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
shift $(($# > 0))
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for file in tests/fuzz/*.cc; do targets+=("$(basename "$file" .cc)"); done
fi

cmake -S . -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_C_COMPILER=clang-19 -DMCC_FUZZ=ON \
  -DCMAKE_BUILD_TYPE=Debug -DMCC_WERROR=OFF >/dev/null
cmake --build build-fuzz --target "${targets[@]/#/fuzz_}"

mkdir -p build-fuzz/findings
failed=0
for target in "${targets[@]}"; do
  corpus=build-fuzz/corpus/$target   # grows; the seeds in tests/fuzz/corpus stay as they are
  mkdir -p "$corpus"
  log=build-fuzz/$target.log
  if build-fuzz/bin/fuzz_"$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=4096 \
    -artifact_prefix="build-fuzz/findings/$target-" "$corpus" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    echo "fuzz: $target: $(grep -a '^#[0-9].*DONE' "$log" | tail -1)"
  else
    echo "fuzz: $target: found something; the end of $log:" >&2
    tail -n 40 "$log" >&2
    failed=1
  fi
done
exit $failed
