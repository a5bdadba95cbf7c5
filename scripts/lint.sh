#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/lint.sh [BUILD_DIR]   check the formatting of all sources and run clang-tidy over them
# scripts/lint.sh --check-format  check the formatting alone
# scripts/lint.sh --format      format all sources in place
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t sources < <(find include src tools examples benches tests -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -not -path '*/fixtures/*' 2>/dev/null | sort)
if [[ "${#sources[@]}" -eq 0 ]]; then
  echo "lint: there are no sources yet"
  exit 0
fi

if [[ "${1:-}" == "--format" ]]; then
  clang-format-19 -i "${sources[@]}"
  exit 0
fi

clang-format-19 --dry-run -Werror "${sources[@]}" || {
  echo "lint: run 'make format'" >&2
  exit 1
}
if [[ "${1:-}" == "--check-format" ]]; then
  exit 0
fi
exec python3 scripts/tidy.py "${1:-build}"
