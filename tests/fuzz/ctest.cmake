# SPDX-License-Identifier: Apache-2.0
# CI's share of the fuzzing: fixed seeds, and a fresh one that is printed.
function(berth_add_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ARGS;ENVIRONMENT")
  add_test(NAME fuzz.${name} COMMAND fuzz_programs ${arg_ARGS}
           WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 900
                       ENVIRONMENT "${BERTH_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
endfunction()

foreach(policy IN ITEMS window per_task exclusive read_write)
  berth_add_fuzz(strict.${policy} ARGS --runtime reference-strict --policy ${policy}
                 --programs 5000 --seed 1)
  berth_add_fuzz(wgpu.${policy} ARGS --runtime wgpu --policy ${policy} --programs 250 --seed 1)
  berth_add_fuzz(dawn.${policy} ARGS --runtime wgpu --policy ${policy} --programs 75 --seed 1
                 --webgpu "${BERTH_DEPS_DIR}/dawn/lib/libwebgpu_dawn.so"
                 ENVIRONMENT "VK_ICD_FILENAMES=${BERTH_DEPS_DIR}/swiftshader/vk_swiftshader_icd.json")
endforeach()
berth_add_fuzz(strict.fresh ARGS --runtime reference-strict --programs 1000 --seed 0)
berth_add_fuzz(fast.fresh ARGS --runtime reference --programs 1000 --seed 0)
