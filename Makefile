# SPDX-License-Identifier: Apache-2.0
#
# A thin front for scripts/setup.sh, CMake and ctest. Everything may be run again: what is in place is
# neither fetched nor built twice.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup configure demo test test-gpu bench bench-plan lint format clean
MAKEFLAGS += --no-print-directory

BUILD := build
BENCH_ARGS ?=

DEMO_SENTENCES := \
	"A ship takes its berth in the harbour." \
	"The vessel is moored at the quay." \
	"Memory is given to a tensor when its work is submitted." \
	"The cat sleeps on the warm windowsill."

help:  ## list the targets
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  ##' $(firstword $(MAKEFILE_LIST)) | \
	  sed -E 's/^([a-z-]+):.*## *(.*)$$/\1|\2/' | \
	  while IFS='|' read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done

setup:  ## install what is missing (apt) and fetch the pinned parts into .deps
	@scripts/setup.sh

configure: setup
	@scripts/configure.sh $(BUILD)

demo: configure  ## build, and embed four sentences with the real model
	@cmake --build $(BUILD) --target berth_tool
	@$(BUILD)/berth embed $(DEMO_SENTENCES)

test: configure  ## build everything, run every test, check the formatting
	@cmake --build $(BUILD)
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j 2
	@scripts/lint.sh --check-format

test-gpu: configure  ## what needs an NVIDIA GPU: conformance, fuzz, sanitizers, benches on CUDA
	@cmake --build $(BUILD) --target conformance_tests scenarios_tests fuzz_programs bench_cuda
	@scripts/gpu_check.sh pack $(BUILD) $(BUILD)/gpu
	@BERTH_NVRTC="$${BERTH_NVRTC:-$(CURDIR)/.deps/cuda/lib/libnvrtc.so.12}" \
	  scripts/gpu_check.sh run $(BUILD)/gpu $(BUILD)/gpu-results

bench: configure  ## build and run the benches (BENCH_ARGS='--benchmark_filter=...')
	@cmake --build $(BUILD) --target benches
	@$(BUILD)/benches/bench_berth $(BENCH_ARGS)

bench-plan: configure  ## build and run the planner's benches
	@cmake --build $(BUILD) --target benches
	@$(BUILD)/benches/bench_plan $(BENCH_ARGS)

lint: configure  ## check formatting, run clang-tidy
	@cmake --build $(BUILD)
	@scripts/lint.sh $(BUILD)

format:  ## format all sources in place
	@scripts/lint.sh --format

clean:  ## remove what was built (.deps stays)
	rm -rf build build-dev build-asan-ubsan build-tsan
