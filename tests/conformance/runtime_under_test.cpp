// SPDX-License-Identifier: Apache-2.0
#include "runtime_under_test.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace berth::conformance {

const RuntimeUnderTest& runtime_under_test() {
  const char* chosen = std::getenv("BERTH_CONFORMANCE_RUNTIME");  // NOLINT: no thread yet
  const std::string_view name = chosen == nullptr ? kReference.name : chosen;
  std::string known;
  for (const RuntimeUnderTest* runtime : {&kReference, &kReferenceStrict, &kWgpuLavapipe,
                                          &kDawnNull, &kDawnSwiftShader, &kCuda, &kCudaFake}) {
    if (runtime->name == name) return *runtime;
    known.append(" ").append(runtime->name);
  }
  throw std::runtime_error("BERTH_CONFORMANCE_RUNTIME names no runtime of the suite; it has:" +
                           known);
}

}  // namespace berth::conformance
