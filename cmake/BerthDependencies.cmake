# SPDX-License-Identifier: Apache-2.0
# What berth builds on. The library needs threads, the loader and, for the wgpu runtime, the header
# webgpu.h; everything else is for tools, examples, tests and benches, which find their own packages.

find_package(Threads REQUIRED)

set(BERTH_DEPS_DIR "${PROJECT_SOURCE_DIR}/.deps")

# berth_webgpu_headers exists exactly where webgpu.h was found.
find_path(BERTH_WEBGPU_INCLUDE_DIR webgpu/webgpu.h HINTS "${BERTH_DEPS_DIR}/wgpu/include")
mark_as_advanced(BERTH_WEBGPU_INCLUDE_DIR)
if(BERTH_WEBGPU_INCLUDE_DIR)
  add_library(berth_webgpu_headers INTERFACE)
  target_include_directories(berth_webgpu_headers SYSTEM INTERFACE "${BERTH_WEBGPU_INCLUDE_DIR}")
elseif(BERTH_FETCH)
  message(FATAL_ERROR "webgpu.h is not in ${BERTH_DEPS_DIR}: run 'make setup' first, "
                      "or build the library alone with -DBERTH_FETCH=OFF.")
else()
  message(STATUS "webgpu.h was not found: the wgpu runtime is left out "
                 "(-DBERTH_WEBGPU_INCLUDE_DIR=DIR names the folder above webgpu/webgpu.h).")
endif()

# berth_cuda_headers exists exactly where cuda.h and nvrtc.h were found; neither library is linked.
find_path(BERTH_CUDA_INCLUDE_DIR cuda.h HINTS "${BERTH_DEPS_DIR}/cuda/include"
          PATHS /usr/local/cuda/include)
mark_as_advanced(BERTH_CUDA_INCLUDE_DIR)
if(BERTH_CUDA_INCLUDE_DIR AND EXISTS "${BERTH_CUDA_INCLUDE_DIR}/nvrtc.h")
  add_library(berth_cuda_headers INTERFACE)
  target_include_directories(berth_cuda_headers SYSTEM INTERFACE "${BERTH_CUDA_INCLUDE_DIR}")
else()
  message(STATUS "cuda.h and nvrtc.h were not found: the cuda runtime is left out "
                 "('scripts/setup.sh' fetches them, -DBERTH_CUDA_INCLUDE_DIR=DIR names their folder).")
endif()

# Where this checkout and its fetched parts are: #include "berth_build_paths.hpp", for tools,
# examples, tests and benches only. The library never sees it.
configure_file("${CMAKE_CURRENT_LIST_DIR}/berth_build_paths.hpp.in"
               "${PROJECT_BINARY_DIR}/generated/berth_build_paths.hpp" @ONLY)
add_library(berth_build_paths INTERFACE)
target_include_directories(berth_build_paths INTERFACE "${PROJECT_BINARY_DIR}/generated")
