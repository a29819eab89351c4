#!/usr/bin/env bash
# Installs what is missing, checks the layout of the sources (.clang-format) and the names in the scripts (pyflakes), builds,
# runs all tests. Options:
#   --sanitize   the same on a build with AddressSanitizer and UndefinedBehaviorSanitizer
#   --tidy       clang-tidy (.clang-tidy) over all sources as well; any finding is a failure. Takes about five seconds of
#                processor time a file
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build
build=()
tidy=
for argument in "$@"; do
  case "$argument" in
    --sanitize) folder=build-sanitize; build=(--sanitize) ;;
    --tidy) tidy=1 ;;
    *) echo "test.sh: unknown option $argument (known: --sanitize, --tidy)" >&2; exit 2 ;;
  esac
done

scripts/setup.sh
git ls-files '*.cc' '*.h' '*.c' | xargs clang-format-19 --dry-run -Werror
git ls-files '*.py' | xargs pyflakes3
scripts/build.sh "${build[@]}"
if [ -n "$tidy" ]; then
  git ls-files 'src/*.cc' | xargs -P "$(nproc)" -n 4 clang-tidy-19 -p "$folder" --quiet
fi
ctest --test-dir "$folder" --output-on-failure -j "$(nproc)"
