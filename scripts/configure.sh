#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/configure.sh BUILD_DIR: configures the release build, silent unless it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build="$1"
mkdir -p "$build"
log="$build/configure.log"
if ! cmake --preset release -B "$build" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
