#!/usr/bin/env bash
# Fuzzes everything that parses bytes from outside (tests/fuzz), with the sanitizers on, in build-sanitize/.
#   scripts/fuzz.sh [SECONDS] [TARGET...]      default: 30 seconds for each target
# What libFuzzer finds lands in build-sanitize/fuzz/findings/TARGET-*; build-sanitize/bin/fuzz_TARGET FILE shows one again.
# A finding is fixed, and its input goes into tests/fuzz/corpus/TARGET: `test.sh --sanitize` runs these.
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

scripts/build.sh --sanitize "${targets[@]/#/fuzz_}"

mkdir -p build-sanitize/fuzz/findings
failed=0
for target in "${targets[@]}"; do
  corpus=build-sanitize/fuzz/corpus/$target   # grows; the seeds in tests/fuzz/corpus stay as they are
  mkdir -p "$corpus"
  log=build-sanitize/fuzz/$target.log
  if build-sanitize/bin/fuzz_"$target" -max_total_time="$seconds" -max_len=4096 -timeout=25 -rss_limit_mb=4096 \
    -artifact_prefix="build-sanitize/fuzz/findings/$target-" "$corpus" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    echo "fuzz: $target: $(grep -a '^#[0-9].*DONE' "$log" | tail -1)"
  else
    echo "fuzz: $target: found something; the end of $log:" >&2
    tail -n 40 "$log" >&2
    failed=1
  fi
done
exit $failed
