# SPDX-License-Identifier: Apache-2.0

# What every test may rely on: a runtime folder (or lavapipe prints a warning), and sanitizer reports
# without the leaks of the graphics drivers, which are not ours.
set(BERTH_TEST_RUNTIME_DIR "${PROJECT_BINARY_DIR}/xdg-runtime")
file(MAKE_DIRECTORY "${BERTH_TEST_RUNTIME_DIR}")
file(CHMOD "${BERTH_TEST_RUNTIME_DIR}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(BERTH_TEST_ENVIRONMENT
    "XDG_RUNTIME_DIR=${BERTH_TEST_RUNTIME_DIR}"
    "BERTH_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "BERTH_BINARY_DIR=${PROJECT_BINARY_DIR}"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp"
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")

# berth_add_tests(<name> FILES <file>... [LIBS <target>...] [TIMEOUT <seconds>] [RUNTIMES <runtime>...])
# One GoogleTest executable and one ctest entry of that name: a process per executable, not per test,
# since a WebGPU device takes half a second to make. Includes: src/, tests/ and the room's folder.
# With RUNTIMES one ctest entry each, <name>.<runtime>: a process has one Vulkan driver.
function(berth_add_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "FILES;LIBS;RUNTIMES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_FILES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE berth_test_support ${arg_LIBS} GTest::gmock GTest::gtest_main
                                        rapidcheck berth_build_paths berth_warnings)
  set(entries ${name})
  list(TRANSFORM arg_RUNTIMES PREPEND "${name}." OUTPUT_VARIABLE entries_by_runtime)
  if(entries_by_runtime)
    set(entries ${entries_by_runtime})
  endif()
  foreach(entry IN LISTS entries)
    set(environment "${BERTH_TEST_ENVIRONMENT}")
    if(arg_RUNTIMES)
      string(REPLACE "${name}." "" runtime "${entry}")
      list(APPEND environment "BERTH_CONFORMANCE_RUNTIME=${runtime}")
    endif()
    add_test(NAME ${entry} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
    set_tests_properties(${entry} PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# berth_add_script_test(<name> <script.py>)
# A Python script that exits with 0 if all is well.
function(berth_add_script_test name script)
  add_test(NAME ${name} COMMAND python3 "${script}" WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT "${BERTH_TEST_ENVIRONMENT}")
endfunction()
