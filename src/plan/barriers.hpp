// SPDX-License-Identifier: Apache-2.0
//
// The barriers of an order, as DESIGN defines them: walk the tasks; one carries a barrier if it
// touches a page written, or writes a page read, since the last barrier; a barrier clears all.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/plan/problem.hpp"

namespace berth::plan::detail {

/// `page_of`: per version any number that names its page; kNone: on no page. `pages`: their number.
[[nodiscard]] std::uint32_t barriers_on(const Problem& problem, const std::vector<TaskId>& order,
                                        const std::vector<std::uint32_t>& page_of,
                                        std::size_t pages);

/// What the data alone demands: every version on a page of its own.
[[nodiscard]] std::uint32_t barriers_demanded(const Problem& problem,
                                              const std::vector<TaskId>& order);

}  // namespace berth::plan::detail
