#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What needs a real GPU, in one go. On the machine with the build:
#
#   scripts/gpu_check.sh pack BUILD_DIR DIR   puts the programs, stripped, and the libraries they need
#                                             into DIR, which needs nothing of this checkout
#   scripts/gpu_check.sh run DIR OUT          on the machine with the GPU: runs them, writes
#                                             summary.txt, log.txt and bench_cuda.json to OUT; ends
#                                             with 1 if one fails
#
# Not packed: glibc and the C++ runtime, since older ones than its own would break that machine's
# tools, and NVRTC, which its toolkit has (BERTH_NVRTC names another).
# All steps together stay below ten minutes. QUICK=1 leaves compute-sanitizer out; FUZZ=N sets
# the random programs per policy (500).
set -uo pipefail

usage() {
  sed -n '5,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

# ---- pack --------------------------------------------------------------------------------------

programs=(tests/conformance_tests tests/scenarios_tests fuzz_programs benches/bench_cuda)

pack() {
  local build="$1" to="$2" program library
  mkdir -p "$to/lib"
  for program in "${programs[@]}"; do
    if [[ ! -x "$build/$program" ]]; then
      echo "gpu_check: $build/$program is not built, and left out" >&2
      continue
    fi
    strip -o "$to/$(basename "$program")" "$build/$program" || exit 1
    ldd "$build/$program" | awk '$3 ~ /^\// { print $3 }' |
      grep -vE '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so' |
      while read -r library; do cp -Lu "$library" "$to/lib/"; done
  done
  cp "${BASH_SOURCE[0]}" "$to/gpu_check.sh"
  du -sh "$to"
}

# ---- run ---------------------------------------------------------------------------------------

# step NAME SECONDS COMMAND...: output to the log, one line to the summary.
step() {
  local name="$1" seconds="$2" start=$SECONDS status=0
  shift 2
  LD_LIBRARY_PATH="$dir/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    timeout "$seconds" "$@" >"$work/step" 2>&1 || status=$?
  { echo "==== $name: $*"; cat "$work/step"; } >>"$out/log.txt"
  if [[ "$status" -eq 0 ]]; then
    echo "ok    $name ($((SECONDS - start)) s)"
  else
    echo "FAIL  $name: exit code $status ($((SECONDS - start)) s)"
    tail -n 15 "$work/step" | sed 's/^/      /'
  fi
}

run() {
  dir="$(cd "$1" && pwd)"
  out="$2"
  mkdir -p "$out"
  : >"$out/log.txt"
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  export BERTH_CONFORMANCE_RUNTIME=cuda
  if [[ -z "${BERTH_NVRTC:-}" ]]; then
    local found
    found="$(ls -d /usr/local/cuda*/lib64/libnvrtc.so.1[23] 2>/dev/null | head -n 1)"
    [[ -z "$found" ]] || export BERTH_NVRTC="$found"
  fi
  {
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
    echo "NVRTC: ${BERTH_NVRTC:-the loader finds it}"
    if [[ -x "$dir/conformance_tests" ]]; then
      step conformance 150 "$dir/conformance_tests" --gtest_brief=1
    fi
    if [[ -x "$dir/scenarios_tests" ]]; then
      step scenarios 90 "$dir/scenarios_tests" --gtest_brief=1
    fi
    if [[ -x "$dir/fuzz_programs" ]]; then
      for policy in window per_task exclusive read_write; do
        step "fuzz-$policy" 40 "$dir/fuzz_programs" --runtime cuda --policy "$policy" \
          --programs "${FUZZ:-500}" --seed 1
      done
    fi
    if [[ -x "$dir/bench_cuda" ]]; then
      step bench 120 "$dir/bench_cuda" --benchmark_out="$out/bench_cuda.json" \
        --benchmark_out_format=json --benchmark_min_time=0.3
    fi
    if [[ -z "${QUICK:-}" ]] && command -v compute-sanitizer >/dev/null; then
      for tool in memcheck racecheck; do
        step "sanitizer-$tool" 100 compute-sanitizer --tool "$tool" --error-exitcode 99 \
          "$dir/conformance_tests" --gtest_brief=1 --gtest_filter='*/window'
      done
    fi
  } | tee "$out/summary.txt"
  ! grep -q '^FAIL' "$out/summary.txt"
}

[[ $# -eq 3 ]] || usage
case "$1" in
  pack) pack "$2" "$3" ;;
  run) run "$2" "$3" ;;
  *) usage ;;
esac
