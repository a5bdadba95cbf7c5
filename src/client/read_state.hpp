// SPDX-License-Identifier: Apache-2.0
//
// A read under way. Its parts lie in readback staging that it holds until it is dropped; get()
// copies them out. One reader at a time.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "berth/readback.hpp"
#include "memory/page.hpp"

namespace berth::client {

class Core;

struct ReadState {
  explicit ReadState(std::shared_ptr<Core> owner) : core(std::move(owner)) {}
  ReadState(const ReadState&) = delete;
  ReadState& operator=(const ReadState&) = delete;
  ~ReadState();

  std::shared_ptr<Core> core;
  std::vector<memory::Slice> parts;  ///< invalid slices for empty parts
  std::vector<std::size_t> part_of;  ///< per readback of the window: its part
  bool submitted = false;            ///< its window is; before, the parts are only reserved
  bool arrived = false;              ///< all parts can be read, or the read failed
  std::exception_ptr failure;
  const Error* error = nullptr;  ///< inside `failure`
};

}  // namespace berth::client
