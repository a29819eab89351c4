#!/usr/bin/env bash
# Installs every Debian package that mcc builds and tests with. Does nothing, quickly, when all are there.
#   scripts/setup.sh            build and test packages
#   scripts/setup.sh --npm      also npm, for real trained models (scripts/fetch_models.sh)
#   scripts/setup.sh --bench    also the libraries that bench/setup.sh compares with
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache mold lld-19
  llvm-19-dev clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev
  libonnx-dev libonnx-testdata libprotobuf-dev protobuf-compiler libxgboost-dev libsqlite3-dev libtbb-dev libjemalloc-dev
  nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev libgtest-dev libgmock-dev libbenchmark-dev
  python3-onnx python3-numpy pyflakes3
  qemu-user libc6-dev-arm64-cross libgcc-12-dev-arm64-cross libc6-dev-riscv64-cross libgcc-12-dev-riscv64-cross
)
for argument in "$@"; do
  case "$argument" in
    --npm) command -v npm >/dev/null || packages+=(npm) ;;
    --bench) packages+=(libdnnl-dev libopenblas-dev) ;;
    *) echo "setup.sh: unknown option $argument (known: --npm, --bench)" >&2; exit 2 ;;
  esac
done

missing=()
installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 2>/dev/null || true)
for package in "${packages[@]}"; do
  grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

# shellcheck disable=SC1091
. /etc/os-release
if [ "${ID:-}" != debian ] || [ "${VERSION_ID:-0}" -lt 12 ]; then
  echo "setup.sh: made for Debian 12, this is ${PRETTY_NAME:-unknown}; install these by hand: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup.sh: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
echo "setup: done"
