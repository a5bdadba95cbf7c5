// SPDX-License-Identifier: Apache-2.0
//
// CUDA source to machine code with NVRTC. Needs no device. NVRTC is reentrant: safe from any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/kernel.hpp"
#include "runtime/cuda/cuda_library.hpp"

namespace berth::runtime::cuda {

/// Most storage bindings of a kernel: its parameters stay far below the 4 KiB every driver takes.
inline constexpr std::size_t kMostBindings = 64;

/// What cuModuleLoadData takes: a cubin, or PTX (text, with its final zero).
struct Image {
  std::string bytes;
  bool is_cubin = false;
};

/// Compiles one form of a kernel for `architecture` (90 = sm_90): to a cubin where NVRTC knows that
/// architecture, else to PTX of the newest one it knows below, which the driver compiles further.
/// Errors: Error(kernel) with the kernel's name, the line and NVRTC's text.
[[nodiscard]] Image compile_source(const NvrtcLibrary& nvrtc, const Kernel& kernel,
                                   const KernelCode& code, int architecture);

/// The headers of CUDA (cuda_fp16.h) beside the NVRTC at `library_path`; empty if there are none.
[[nodiscard]] std::string include_folder_of(const std::string& library_path);

/// Line of the first error in NVRTC's text ("name(5): error: …"), 0 if it names none.
[[nodiscard]] std::uint32_t line_in(std::string_view log);

/// " (in place)" and so on; empty for the plain form.
[[nodiscard]] const char* suffix_of(Variant variant);

}  // namespace berth::runtime::cuda
