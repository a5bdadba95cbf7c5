// SPDX-License-Identifier: Apache-2.0
#include "plan/page_packing.hpp"

#include <algorithm>

#include "plan/pack.hpp"

namespace berth::plan::detail {

PackedPages pack_pages(const PoolProblem& problem, const std::vector<std::uint32_t>& page,
                       std::uint64_t work_per_item, Random& random) {
  constexpr std::uint64_t kEasy = 300;  // per item, where first fit reaches the target
  const auto existing = static_cast<std::uint32_t>(problem.bins.size());
  PackedPages result;
  PoolPlan& plan = result.plan;
  plan.page.resize(page.size());
  plan.offset.resize(page.size());
  const std::uint32_t pages = page.empty() ? 0 : *std::max_element(page.begin(), page.end()) + 1;
  std::vector<std::vector<std::uint32_t>> on(pages);
  for (std::uint32_t i = 0; i < page.size(); ++i) {
    on[page[i]].push_back(i);
    plan.page[i] = page[i] + existing;
  }
  plan.extent.assign(existing + pages, 0);
  std::vector<Item> items;
  for (std::uint32_t p = 0; p < pages; ++p) {
    items.clear();
    for (const std::uint32_t i : on[p]) items.push_back(problem.items[i]);
    const Bytes target = max_live(items, problem.positions);
    const Packing packing = pack(items, target, work_per_item * items.size(), random);
    result.work +=
        (packing.extent == target ? std::min(kEasy, work_per_item) : work_per_item) * items.size();
    for (std::size_t k = 0; k < items.size(); ++k) plan.offset[on[p][k]] = packing.offset[k];
    plan.extent[existing + p] = packing.extent;
    result.sum += packing.extent;
  }
  return result;
}

}  // namespace berth::plan::detail
