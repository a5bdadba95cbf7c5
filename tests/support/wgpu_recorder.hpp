// SPDX-License-Identifier: Apache-2.0
//
// Wraps the entry points of a WebGPU library and writes down what goes through them. Everything is
// forwarded unchanged, callbacks included. Entry points that are not recorded are handed out as
// they are. C function pointers have no closure: one recorder a process at a time. Safe from any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/wgpu_recording.hpp"

namespace berth::test {

/// The same as berth::WebGpuOptions::GetProc.
using GetProc = void* (*)(void* user, const char* name);

/// A library as a GetProc: `get_proc(&library, name)`. Opened once and never closed.
class WebGpuLibrary {
 public:
  /// Errors: std::runtime_error with the loader's reason.
  explicit WebGpuLibrary(std::string_view path);
  /// The same, kept to the end of the process: entry points may be called as long.
  [[nodiscard]] static WebGpuLibrary& opened(std::string_view path);
  /// `user` is a WebGpuLibrary.
  static void* get_proc(void* user, const char* name);

 private:
  void* handle_;
};

struct RecorderCounts {
  std::uint64_t buffers_made = 0;
  std::uint64_t buffer_bytes_made = 0;
  std::uint64_t buffers_alive = 0;  ///< neither destroyed nor released by the caller
  std::uint64_t buffer_bytes_alive = 0;
  std::uint64_t bind_groups_made = 0;
  std::uint64_t bind_groups_alive = 0;  ///< not released by the caller
  std::uint64_t layouts_made = 0;
  std::uint64_t pipelines_made = 0;
  std::uint64_t encoders = 0;
  std::uint64_t passes = 0;
  std::uint64_t dispatches = 0;  ///< encoded; direct and indirect
  std::uint64_t indirect = 0;
  std::uint64_t copies = 0;
  std::uint64_t clears = 0;
  std::uint64_t writes = 0;  ///< queue.writeBuffer
  std::uint64_t maps = 0;
  std::uint64_t submits = 0;
  std::uint64_t errors = 0;  ///< answered by a scope, or uncaptured
};

/// Objects that were made through the recorder must be released before it is destroyed; calls that
/// come later are forwarded without being recorded.
class Recorder {
 public:
  /// Stands on a library, opened by path.
  /// Errors: std::runtime_error if it cannot be opened; std::logic_error if a recorder is alive.
  explicit Recorder(std::string_view library_path);
  /// Stands on other functions: a FaultyTable's, for one.
  Recorder(GetProc upstream, void* user);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  /// For WebGpuOptions: {.get_proc = Recorder::get_proc, .get_proc_user = &recorder}.
  static void* get_proc(void* recorder, const char* name);

  /// All calls so far.
  [[nodiscard]] Recording recording() const;
  /// The calls since the last take(); a Judge reads such parts one after another.
  [[nodiscard]] Recording take();
  /// Counts of everything since the beginning.
  [[nodiscard]] RecorderCounts counts() const;
  /// Names that were asked for, sorted, each once; also those the library does not have.
  [[nodiscard]] std::vector<std::string> names_looked_up() const;
};

/// The GetProc of the active recorder; `user` is the Recorder.
inline void* recording_get_proc(void* user, const char* name) {
  return Recorder::get_proc(user, name);
}

}  // namespace berth::test
