// SPDX-License-Identifier: Apache-2.0
//
// Matmul with bias, and with GELU behind it. The WGSL is written out by loops: 64 invocations hold
// up to 8 x 8 products each in registers, which is what makes software devices (lavapipe,
// SwiftShader), whose loads cost more than their arithmetic, two to three times as fast as 4 x 4.
// Thread safety: see kernels.hpp.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "minilm/cpu_lanes.hpp"
#include "minilm/gelu.hpp"
#include "minilm/kernel_parts.hpp"
#include "minilm/kernels.hpp"

namespace minilm {
namespace {

constexpr std::uint32_t kTileColumns = 64;
constexpr std::uint32_t kColumnsEach = 8;  // of one invocation: two vec4f
constexpr std::uint32_t kThreads = 64;     // 8 across, 8 down
constexpr std::uint32_t kSteps = 4;        // vec4f of depth a turn: 16 floats

constexpr std::uint32_t tile_rows(MatmulTile tile) { return tile == MatmulTile::tall ? 64 : 16; }

std::string n(std::uint32_t value) { return std::to_string(value) + "u"; }

constexpr const char* kMatmulHead = R"(
struct Shape { rows: u32, columns: u32, depth: u32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> w: array<vec4f>;
@group(0) @binding(2) var<storage, read> b: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> shape: Shape;
)";

constexpr const char* kMatmulStart = R"(
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let across = local % 8u;
  let down = local / 8u;
  let first_row = group.y * kTileRows;
  let first_column = group.x * 64u;
  let depth = shape.depth / 4u;
)";

// Rows past the end load the last row again; their sums are never stored.
constexpr const char* kMatmulLoad = R"(
  for (var k = 0u; k < depth; k += 4u) {
    for (var i = local; i < kTileRows * 4u; i += 64u) {
      let row = min(first_row + i / 4u, shape.rows - 1u);
      x_tile[i] = x[row * depth + k + i % 4u];
    }
    for (var i = local; i < 256u; i += 64u) {
      w_tile[i] = w[(first_column + i / 4u) * depth + k + i % 4u];
    }
    workgroupBarrier();
    for (var step = 0u; step < 4u; step++) {
)";

void add(std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) text += part;
}

// Invocation (across, down) holds rows down + 8 r and, in two vec4f, columns 4 (across + 8 c) +
// 0..3; the sums of those are called s<r>_<c>.
std::string sum_name(std::uint32_t r, std::uint32_t c) {
  std::string name = "s";
  add(name, {std::to_string(r), "_", std::to_string(c)});
  return name;
}

void add_products(std::string& text, std::uint32_t rows_each) {
  for (std::uint32_t c = 0; c < kColumnsEach; ++c) {
    add(text, {"      let w", std::to_string(c), " = w_tile[((across + ", n(c / 4 * 8), ") * 4u + ",
               n(c % 4), ") * 4u + step];\n"});
  }
  for (std::uint32_t r = 0; r < rows_each; ++r) {
    const std::string row = std::to_string(r);
    add(text, {"      let x", row, " = x_tile[(down + ", n(r * 8), ") * 4u + step];\n"});
    for (std::uint32_t c = 0; c < 2; ++c) {
      add(text, {"      ", sum_name(r, c), " += vec4f("});
      for (std::uint32_t i = 0; i < 4; ++i) {
        add(text, {i == 0 ? "" : ", ", "dot(x", row, ", w", std::to_string(c * 4 + i), ")"});
      }
      text += ");\n";
    }
  }
}

void add_stores(std::string& text, std::uint32_t rows_each, Activation activation) {
  const bool gelu = activation == Activation::gelu;
  text += "  let stride = shape.columns / 4u;\n";
  for (std::uint32_t c = 0; c < 2; ++c) {
    const std::string column = "column" + std::to_string(c);
    const std::string bias = "bias" + std::to_string(c);
    add(text, {"  let ", column, " = first_column / 4u + across + ", n(c * 8), ";\n  let ", bias,
               " = b[", column, "];\n"});
    for (std::uint32_t r = 0; r < rows_each; ++r) {
      const std::string row = "first_row + down + " + n(r * 8);
      add(text, {"  if (", row, " < shape.rows) { y[(", row, ") * stride + ", column,
                 "] = ", gelu ? "gelu(" : "(", sum_name(r, c), " + ", bias, "); }\n"});
    }
  }
}

std::string matmul_wgsl(MatmulTile tile, Activation activation) {
  const std::uint32_t rows_each = tile_rows(tile) / 8;
  std::string text = kMatmulHead;
  add(text, {"const kTileRows = ", n(tile_rows(tile)), ";\nvar<workgroup> x_tile: array<vec4f, ",
             n(tile_rows(tile) * kSteps), ">;\nvar<workgroup> w_tile: array<vec4f, ",
             n(kTileColumns * kSteps), ">;\n"});
  if (activation == Activation::gelu) text += gelu_wgsl();
  text += kMatmulStart;
  for (std::uint32_t r = 0; r < rows_each; ++r) {
    for (std::uint32_t c = 0; c < 2; ++c) add(text, {"  var ", sum_name(r, c), " = vec4f();\n"});
  }
  text += kMatmulLoad;
  add_products(text, rows_each);
  text += "    }\n    workgroupBarrier();\n  }\n";
  add_stores(text, rows_each, activation);
  text += "}\n";
  return text;
}

struct MatmulView {
  const float* x;
  const float* w;
  const float* b;
  float* y;
  MatmulShape shape;
};

// Products of R rows and C columns, summed up in lanes along the depth. Both x and w are contiguous
// along it, so nothing is packed.
template <std::uint32_t R, std::uint32_t C>
inline __attribute__((always_inline)) void dot_block(const MatmulView& m, std::uint32_t row,
                                                     std::uint32_t column) {
  const std::size_t depth = m.shape.depth;
  const float* x = m.x + row * depth;
  const float* w = m.w + column * depth;
  Lanes sums[R][C] = {};
  for (std::size_t k = 0; k < depth; k += kLanes) {
    Lanes w_lanes[C];
    for (std::uint32_t c = 0; c < C; ++c) load(w_lanes[c], w + c * depth + k);
    for (std::uint32_t r = 0; r < R; ++r) {
      Lanes x_lanes;
      load(x_lanes, x + r * depth + k);
      for (std::uint32_t c = 0; c < C; ++c) sums[r][c] += x_lanes * w_lanes[c];
    }
  }
  for (std::uint32_t r = 0; r < R; ++r) {
    for (std::uint32_t c = 0; c < C; ++c) {
      m.y[(row + r) * std::size_t{m.shape.columns} + column + c] =
          sum_of(sums[r][c]) + m.b[column + c];
    }
  }
}

MINILM_WIDE void matmul_tile_cpu(const MatmulView& m, std::uint32_t row, std::uint32_t rows_end,
                                 std::uint32_t first_column, bool gelu) {
  for (; row + 4 <= rows_end; row += 4) {
    for (std::uint32_t c = 0; c < kTileColumns; c += 2) dot_block<4, 2>(m, row, first_column + c);
    for (std::uint32_t r = 0; gelu && r < 4; ++r) {
      gelu_row(m.y + (row + r) * std::size_t{m.shape.columns} + first_column, kTileColumns);
    }
  }
  for (; row < rows_end; ++row) {
    for (std::uint32_t c = 0; c < kTileColumns; c += 4) dot_block<1, 4>(m, row, first_column + c);
    if (gelu) gelu_row(m.y + row * std::size_t{m.shape.columns} + first_column, kTileColumns);
  }
}

template <MatmulTile kTile, Activation kActivation>
void matmul_cpu(const berth::CpuInvocation& call) {
  const MatmulView m{call.buffer<const float>(0).data(), call.buffer<const float>(1).data(),
                     call.buffer<const float>(2).data(), call.buffer<float>(3).data(),
                     call.uniforms<MatmulShape>()};
  const std::uint32_t row = call.group()[1] * tile_rows(kTile);
  matmul_tile_cpu(m, row, std::min(row + tile_rows(kTile), m.shape.rows),
                  call.group()[0] * kTileColumns, kActivation == Activation::gelu);
}

berth::CpuFunction matmul_function(MatmulTile tile, Activation activation) {
  using enum MatmulTile;
  if (activation == Activation::gelu) {
    return tile == tall ? matmul_cpu<tall, Activation::gelu> : matmul_cpu<flat, Activation::gelu>;
  }
  return tile == tall ? matmul_cpu<tall, Activation::none> : matmul_cpu<flat, Activation::none>;
}

}  // namespace

MatmulTile matmul_tile(std::uint32_t rows) {
  return rows <= 48 ? MatmulTile::flat : MatmulTile::tall;
}

berth::Grid matmul_grid(MatmulTile tile, std::uint32_t rows, std::uint32_t columns) {
  const std::uint32_t height = tile_rows(tile);
  return {.x = columns / kTileColumns, .y = (rows + height - 1) / height};
}

berth::Kernel make_matmul(MatmulTile tile, Activation activation) {
  std::string name = activation == Activation::gelu ? "minilm.matmul_gelu" : "minilm.matmul";
  name += tile == MatmulTile::tall ? ".tall" : ".flat";
  return make_kernel(std::move(name), {rows_of("x"), rows_of("w"), rows_of("b"), result("y")},
                     {"rows", "columns", "depth"}, kThreads, matmul_wgsl(tile, activation),
                     matmul_function(tile, activation));
}

}  // namespace minilm
