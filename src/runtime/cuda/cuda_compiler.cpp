// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_compiler.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::runtime::cuda {

namespace {

/// A program of NVRTC, destroyed with the scope.
class Program {
 public:
  Program(const NvrtcTable& api, const std::string& source, const std::string& name) : api_(api) {
    result_ = api_.CreateProgram(&program_, source.c_str(), name.c_str(), 0, nullptr, nullptr);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (program_ != nullptr) api_.DestroyProgram(&program_);
  }

  [[nodiscard]] nvrtcResult compile(const std::vector<std::string>& options) {
    if (result_ != NVRTC_SUCCESS) return result_;
    std::vector<const char*> arguments;
    arguments.reserve(options.size());
    for (const std::string& option : options) arguments.push_back(option.c_str());
    return api_.CompileProgram(program_, static_cast<int>(arguments.size()), arguments.data());
  }
  [[nodiscard]] std::string log() const { return read(api_.GetProgramLogSize, api_.GetProgramLog); }
  [[nodiscard]] std::string cubin() const { return read(api_.GetCUBINSize, api_.GetCUBIN); }
  [[nodiscard]] std::string ptx() const { return read(api_.GetPTXSize, api_.GetPTX); }

 private:
  template <class Size, class Get>
  [[nodiscard]] std::string read(Size size, Get get) const {
    std::size_t bytes = 0;
    if (program_ == nullptr || size(program_, &bytes) != NVRTC_SUCCESS) return {};
    std::string out(bytes, '\0');
    if (bytes != 0 && get(program_, out.data()) != NVRTC_SUCCESS) return {};
    return out;
  }

  const NvrtcTable& api_;
  nvrtcProgram program_ = nullptr;
  nvrtcResult result_ = NVRTC_SUCCESS;
};

std::vector<int> known_architectures(const NvrtcTable& api) {
  int count = 0;
  if (api.GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0) return {};
  std::vector<int> known(static_cast<std::size_t>(count));
  if (api.GetSupportedArchs(known.data()) != NVRTC_SUCCESS) return {};
  return known;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  return text;
}

}  // namespace

const char* suffix_of(Variant variant) {
  switch (variant) {
    case Variant::plain:
      return "";
    case Variant::in_place:
      return " (in place)";
    case Variant::promoted:
      return " (promoted)";
    case Variant::batched:
      return " (batched)";
  }
  return "";
}

std::uint32_t line_in(std::string_view log) {
  const std::size_t error = log.find("): error");
  if (error == std::string_view::npos) return 0;
  const std::size_t open = log.rfind('(', error);
  if (open == std::string_view::npos) return 0;
  std::uint32_t line = 0;
  const auto [end, problem] = std::from_chars(log.data() + open + 1, log.data() + error, line);
  return problem == std::errc() && end == log.data() + error ? line : 0;
}

std::string include_folder_of(const std::string& library_path) {
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(library_path, ignored);
  if (ignored) return {};
  const std::filesystem::path folder = real.parent_path().parent_path() / "include";
  return std::filesystem::exists(folder / "cuda_fp16.h", ignored) ? folder.string() : std::string();
}

Image compile_source(const NvrtcLibrary& nvrtc, const Kernel& kernel, const KernelCode& code,
                     int architecture) {
  const std::vector<int> known = known_architectures(nvrtc.table);
  Image image;
  image.is_cubin = std::ranges::find(known, architecture) != known.end();
  int target = image.is_cubin ? architecture : 0;
  for (const int other : known) {
    if (!image.is_cubin && other < architecture) target = std::max(target, other);
  }
  if (target == 0) {
    throw Error(
        ErrorCode::kernel,
        text("The kernel \"", kernel.name(), "\" cannot be compiled: NVRTC ", nvrtc.major, ".",
             nvrtc.minor, " knows no architecture up to the device's sm_", architecture, "."));
  }
  std::vector<std::string> options{
      text("--gpu-architecture=", image.is_cubin ? "sm_" : "compute_", target), "--std=c++17"};
  if (const std::string headers = include_folder_of(nvrtc.path); !headers.empty()) {
    options.push_back(text("--include-path=", headers));
  }
  Program program(nvrtc.table, code.source, kernel.name());
  const nvrtcResult result = program.compile(options);
  if (result != NVRTC_SUCCESS) {
    const std::string log = trimmed(program.log());
    const std::uint32_t line = line_in(log);
    throw Error(ErrorCode::kernel,
                text("The kernel \"", kernel.name(), "\"", suffix_of(code.variant),
                     " does not compile", line != 0 ? text(" at line ", line) : std::string(), ": ",
                     log.empty() ? nvrtc.table.GetErrorString(result) : log.c_str()));
  }
  image.bytes = image.is_cubin ? program.cubin() : program.ptx();
  if (image.bytes.empty()) {
    throw Error(ErrorCode::kernel, text("NVRTC ", nvrtc.major, ".", nvrtc.minor,
                                        " gives no code for the kernel \"", kernel.name(), "\"."));
  }
  return image;
}

}  // namespace berth::runtime::cuda
