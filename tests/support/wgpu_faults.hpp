// SPDX-License-Identifier: Apache-2.0
//
// Makes the nth call of a kind fail, as a WebGPU library would: an error in the caller's scope, a
// map that is refused, a lost device. Stands on a library or on any other GetProc; a Recorder on
// top of it sees the failures as the client does. What fails never harms the library below: an
// object that "failed" is a sound one, so that a client that goes on regardless is caught by the
// judge and not by the end of the process. One table a process at a time, one device a table; safe
// from any thread. Storage has its own faults: berth::memory::Storage::set_fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/wgpu_recorder.hpp"

namespace berth::test {

/// Kinds of calls that can fail.
enum class FaultyCall : std::uint8_t {
  any,  ///< all of the following but the requests
  buffer,
  bind_group,
  bind_group_layout,
  pipeline_layout,
  shader_module,
  pipeline,
  encoder,
  finish,
  submit,  ///< a failed one is not forwarded
  write,   ///< queue.writeBuffer; a failed one is not forwarded
  map,     ///< the callback says Error at the next processing of events
  adapter_request,
  device_request,
};
inline constexpr std::size_t kFaultyCalls = 14;

struct Fault {
  enum class Effect : std::uint8_t {
    validation,  ///< an error in the innermost validation scope (wgpu-native's out of memory, too)
    out_of_memory,  ///< an error in the innermost out-of-memory scope, as Dawn does it
    null_object,    ///< a buffer is nullptr, as Dawn's is if it cannot be mapped at creation
    lose_device,    ///< the device's lost callback fires before the call
  };
  FaultyCall call = FaultyCall::any;
  std::uint64_t nth = 0;    ///< 0 = the next such call after arm()
  std::uint64_t times = 1;  ///< that many calls from the nth on
  Effect effect = Effect::validation;
  std::string message = "a planted fault";
};

/// Objects made through the table must be released before it is destroyed.
class FaultyTable {
 public:
  /// Errors: std::runtime_error if the library cannot be opened; std::logic_error if a table is
  /// alive.
  explicit FaultyTable(std::string_view library_path);
  FaultyTable(GetProc upstream, void* user);
  FaultyTable(const FaultyTable&) = delete;
  FaultyTable& operator=(const FaultyTable&) = delete;
  ~FaultyTable();

  /// For WebGpuOptions, or as a Recorder's upstream.
  static void* get_proc(void* table, const char* name);

  /// Plants a fault and starts the counts anew; replaces the one before.
  void arm(const Fault& fault);
  /// Nothing fails any more; the counts start anew.
  void disarm();
  /// Calls of that kind since arm() or disarm(), failed ones included.
  [[nodiscard]] std::uint64_t calls(FaultyCall kind = FaultyCall::any) const;
  /// How often the planted fault has struck.
  [[nodiscard]] std::uint64_t struck() const;
};

}  // namespace berth::test
