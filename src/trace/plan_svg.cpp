// SPDX-License-Identifier: Apache-2.0
//
// A plan as a picture. See plan_svg.hpp.
#include "trace/plan_svg.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace berth::trace {
namespace {

constexpr double kWidth = 1200;
constexpr double kHeight = 800;  ///< of all lanes together, without the gaps between them
constexpr double kLeft = 110;
constexpr double kTop = 40;
constexpr double kGap = 14;
constexpr double kMargin = 40;

std::string number(double value) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.2f", value);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// Text as XML holds it; characters that XML forbids are left out.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) result += c;
    }
  }
  return result;
}

struct Box {
  double begin = 0;  ///< position of the first task, in tasks
  double end = 0;    ///< one past the position of the last one
  bool drawn = false;
};

class Drawing {
 public:
  Drawing(const plan::Problem& problem, const plan::Plan& plan, const SvgLabels& labels)
      : problem_(problem), plan_(plan), labels_(labels) {
    lay_out_lanes();
    lay_out_boxes();
  }

  std::string draw() {
    put("<svg xmlns='http://www.w3.org/2000/svg' width='", number(kLeft + kWidth + kMargin),
        "' height='", number(bottom_ + kMargin), "' font-family='sans-serif' font-size='11'>\n");
    put("<title>", escaped(labels_.title), "</title>\n");
    put("<rect width='100%' height='100%' fill='#ffffff'/>\n");
    put("<text x='", number(kLeft), "' y='20' font-size='14'>", escaped(labels_.title),
        "</text>\n");
    draw_lanes();
    for (std::size_t v = 0; v < boxes_.size(); ++v) draw_box(v);
    draw_conflicts();
    put("<text x='", number(kLeft), "' y='", number(bottom_ + 20), "'>",
        std::to_string(plan_.order.size()), " tasks in the plan's order; up: addresses; ",
        "red: written and only read by one task</text>\n</svg>\n");
    return std::move(text_);
  }

 private:
  template <class... Parts>
  void put(const Parts&... parts) {
    (text_.append(parts), ...);
  }

  void lay_out_lanes() {
    Bytes total = 0;
    for (const plan::PlannedPage& page : plan_.pages) total += page.used ? page.bytes : 0;
    per_byte_ = kHeight / static_cast<double>(std::max<Bytes>(total, 1));
    per_task_ = kWidth / static_cast<double>(std::max<std::size_t>(plan_.order.size(), 1));
    bottom_ = kTop;
    for (const plan::PlannedPage& page : plan_.pages) {
      if (page.used) bottom_ += static_cast<double>(page.bytes) * per_byte_ + kGap;
      lane_floor_.push_back(bottom_ - kGap);
    }
  }

  void lay_out_boxes() {
    boxes_.resize(problem_.versions.size());
    for (std::size_t position = 0; position < plan_.order.size(); ++position) {
      const plan::Task& task = problem_.tasks[plan_.order[position].index()];
      for (std::uint32_t u = task.first_use; u < task.first_use + task.use_count; ++u) {
        Box& box = boxes_[problem_.uses[u].version.index()];
        if (!box.drawn) box.begin = static_cast<double>(position);
        box.end = static_cast<double>(position + 1);
        box.drawn = true;
      }
    }
    for (std::size_t v = 0; v < boxes_.size(); ++v) {
      const plan::Version& version = problem_.versions[v];
      if (version.incoming) boxes_[v].begin = 0;
      if (version.outlives) boxes_[v].end = static_cast<double>(plan_.order.size());
      if (version.bytes == 0 || plan_.places[v].page.index() >= plan_.pages.size()) {
        boxes_[v].drawn = false;
      }
    }
  }

  [[nodiscard]] double x_of(double position) const { return kLeft + position * per_task_; }
  /// Where an address of a page is, counted from above.
  [[nodiscard]] double y_of(std::size_t page, Bytes offset) const {
    return lane_floor_[page] - static_cast<double>(offset) * per_byte_;
  }
  [[nodiscard]] double middle_of(std::size_t v) const {
    return y_of(plan_.places[v].page.index(),
                plan_.places[v].offset + problem_.versions[v].bytes / 2);
  }

  void draw_lanes() {
    for (std::size_t p = 0; p < plan_.pages.size(); ++p) {
      if (!plan_.pages[p].used) continue;
      const double top = y_of(p, plan_.pages[p].bytes);
      put("<rect x='", number(kLeft), "' y='", number(top), "' width='", number(kWidth),
          "' height='", number(lane_floor_[p] - top), "' fill='#f2f2f2' stroke='#999999'/>\n");
      put("<text x='4' y='", number(lane_floor_[p] - 2), "'>page ", std::to_string(p), ": ",
          std::to_string(plan_.pages[p].bytes), "</text>\n");
    }
  }

  void draw_box(std::size_t v) {
    const Box& box = boxes_[v];
    if (!box.drawn) return;
    const plan::Place& place = plan_.places[v];
    const Bytes bytes = problem_.versions[v].bytes;
    const double top = y_of(place.page.index(), place.offset + bytes);
    const std::string label = v < labels_.versions.size() && !labels_.versions[v].empty()
                                  ? labels_.versions[v]
                                  : std::to_string(v);
    constexpr unsigned kHueStep = 47;  // neighbours in number get hues far apart
    put("<rect x='", number(x_of(box.begin)), "' y='", number(top), "' width='",
        number((box.end - box.begin) * per_task_), "' height='",
        number(static_cast<double>(bytes) * per_byte_), "' fill='hsl(",
        std::to_string(v * kHueStep % 360), ",55%,72%)' stroke='#444444' stroke-width='0.4'>");
    put("<title>", escaped(label), ": ", std::to_string(bytes), " bytes at ",
        std::to_string(place.offset), " of page ", std::to_string(place.page.value),
        "</title></rect>\n");
  }

  void draw_conflicts() {
    put("<g stroke='#d01010' stroke-width='0.6' stroke-opacity='0.6'>\n");
    for (std::size_t position = 0; position < plan_.order.size(); ++position) {
      const std::size_t t = plan_.order[position].index();
      const plan::Task& task = problem_.tasks[t];
      const std::string x = number(x_of(static_cast<double>(position) + 0.5));
      for (std::uint32_t w = task.first_use; w < task.first_use + task.use_count; ++w) {
        for (std::uint32_t r = task.first_use; r < task.first_use + task.use_count; ++r) {
          const plan::Use& written = problem_.uses[w];
          const plan::Use& read = problem_.uses[r];
          if (!writes(written.access) || writes(read.access) ||
              !boxes_[written.version.index()].drawn || !boxes_[read.version.index()].drawn) {
            continue;
          }
          put("<line x1='", x, "' y1='", number(middle_of(written.version.index())), "' x2='", x,
              "' y2='", number(middle_of(read.version.index())), "'><title>");
          put(escaped(t < labels_.tasks.size() && !labels_.tasks[t].empty() ? labels_.tasks[t]
                                                                            : std::to_string(t)),
              "</title></line>\n");
        }
      }
    }
    put("</g>\n");
  }

  const plan::Problem& problem_;
  const plan::Plan& plan_;
  const SvgLabels& labels_;
  std::vector<Box> boxes_;
  std::vector<double> lane_floor_;  ///< per page: y of its offset 0
  double per_byte_ = 0;
  double per_task_ = 0;
  double bottom_ = 0;
  std::string text_;
};

}  // namespace

std::string draw_svg(const plan::Problem& problem, const plan::Plan& plan,
                     const SvgLabels& labels) {
  return Drawing(problem, plan, labels).draw();
}

}  // namespace berth::trace
