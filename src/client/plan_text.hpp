// SPDX-License-Identifier: Apache-2.0
//
// A window's plan as text for people: pages, tasks with their places, repairs. Pure.
#pragma once

#include <string>

#include "client/placement.hpp"
#include "client/window.hpp"

namespace berth::client {

[[nodiscard]] std::string plan_text(const Window& window, const Placement& placement);

}  // namespace berth::client
