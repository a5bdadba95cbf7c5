// SPDX-License-Identifier: Apache-2.0
//
// NVRTC of the fake: "machine code" is the source with a word in front; "#error" is an error.
#include <nvrtc.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Program {
  std::string source;
  std::string name;
  std::string log;
  std::string code;
};

Program& program_of(nvrtcProgram program) { return *reinterpret_cast<Program*>(program); }

nvrtcResult give(const std::string& text, char* out) {
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 9;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int* known) {
  known[0] = 70;
  known[1] = 80;
  known[2] = 90;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name,
                               int /*headers*/, const char* const* /*texts*/,
                               const char* const* /*names*/) {
  *program = reinterpret_cast<nvrtcProgram>(new Program{source, name, {}, {}});
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete &program_of(*program);
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  Program& p = program_of(program);
  const std::size_t at = p.source.find("#error");
  if (at != std::string::npos) {
    int line = 1;
    for (const char c : p.source.substr(0, at)) line += c == '\n' ? 1 : 0;
    const std::string text = p.source.substr(at, p.source.find('\n', at) - at);
    p.log = p.name + "(" + std::to_string(line) + "): error: " + text + "\n";
    return NVRTC_ERROR_COMPILATION;
  }
  p.code = "PTX ";
  for (int i = 0; i < count; ++i) {
    if (std::string_view(options[i]).find("sm_") != std::string_view::npos) p.code = "CUBIN ";
  }
  p.code += p.source;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = program_of(program).log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* out) {
  return give(program_of(program).log, out);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = program_of(program).code.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* out) {
  return give(program_of(program).code, out);
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = program_of(program).code.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* out) {
  return give(program_of(program).code, out);
}

}  // extern "C"
