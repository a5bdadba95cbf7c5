// SPDX-License-Identifier: Apache-2.0
//
// What reached WebGPU, read off the recorded calls. (The judge holds every other test to the same.)
#include <map>
#include <set>

#include "conformance_fixture.hpp"
#include "support/wgpu_recording.hpp"

namespace berth::conformance {
namespace {

using test::BindingType;
using test::ObjectId;

/// One buffer binding of a dispatch.
struct Bound {
  std::string kernel;
  ObjectId encoder = 0;
  std::uint32_t group = 0;
  std::uint32_t binding = 0;
  ObjectId buffer = 0;
  BindingType type = BindingType::other;
};

/// Follows layouts, groups and passes; the recording must begin with their creation.
std::vector<Bound> bindings_of(const test::Recording& recording) {
  std::map<ObjectId, test::LayoutMade> layouts;
  std::map<ObjectId, test::GroupMade> groups;
  std::map<ObjectId, std::string> pipelines;
  std::map<ObjectId, ObjectId> encoders;  // by pass
  std::map<ObjectId, std::string> kernels;
  std::map<ObjectId, std::map<std::uint32_t, ObjectId>> set;
  std::vector<Bound> found;
  for (const test::Call& call : recording.calls) {
    if (const auto* layout = std::get_if<test::LayoutMade>(&call))
      layouts[layout->layout] = *layout;
    if (const auto* group = std::get_if<test::GroupMade>(&call)) groups[group->group] = *group;
    if (const auto* made = std::get_if<test::PipelineMade>(&call)) {
      pipelines[made->pipeline] = made->label;
    }
    if (const auto* pass = std::get_if<test::PassBegun>(&call))
      encoders[pass->pass] = pass->encoder;
    if (const auto* use = std::get_if<test::PipelineSet>(&call)) {
      kernels[use->pass] = pipelines[use->pipeline];
    }
    if (const auto* use = std::get_if<test::GroupSet>(&call))
      set[use->pass][use->index] = use->group;
    if (const auto* dispatch = std::get_if<test::Dispatched>(&call)) {
      for (const auto& [index, group] : set[dispatch->pass]) {
        for (const test::GroupEntry& entry : groups[group].entries) {
          Bound bound{
              kernels[dispatch->pass], encoders[dispatch->pass], index, entry.binding, entry.buffer,
              BindingType::other};
          for (const test::LayoutEntry& declared : layouts[groups[group].layout].entries) {
            if (declared.binding == entry.binding) bound.type = declared.type;
          }
          found.push_back(bound);
        }
      }
    }
  }
  return found;
}

class InputsOnRecord : public Conformance {};
// Not read_write, which binds nothing read-only where it can.
INSTANTIATE_TEST_SUITE_P(Under, InputsOnRecord,
                         testing::Values(Policy::window, Policy::per_task, Policy::exclusive),
                         name_of_policy);

TEST_P(InputsOnRecord, AreBoundReadOnly) {
  std::size_t inputs = 0;
  {
    Client client = connect(options());
    const Handle x = client.create(counted(64));
    const Handle flag = client.create(Words{1});
    for (const Kernel& kernel : test::integer_kernels()) {
      std::vector<Handle> written;
      std::vector<Binding> bindings;
      for (const BindingSignature& b : kernel.signature().bindings) {
        inputs += b.access == Access::read ? 1 : 0;
        written.push_back(client.zeros(256));
      }
      for (std::size_t i = 0; i < written.size(); ++i) {
        const bool reads = kernel.signature().bindings[i].access == Access::read;
        bindings.emplace_back(reads ? (i == 0 ? x : flag) : written[i]);
      }
      Uniforms uniforms;  // every count is 1, so that flag is long enough
      for (const UniformField& field : kernel.signature().uniforms) {
        if (field.components == 1) uniforms.add(std::uint32_t{1});
        if (field.components == 2) uniforms.add(std::array<std::int32_t, 2>{1, 1});
        if (field.components == 3) uniforms.add(std::array<std::uint32_t, 3>{1, 1, 1});
        if (field.components == 4) uniforms.add(std::array<std::uint32_t, 4>{1, 1, 1, 1});
      }
      client.launch(kernel, Grid{1}, bindings, uniforms);
    }
    client.sync();
  }
  std::size_t found = 0;
  for (const Bound& bound : bindings_of(recording())) {
    for (const Kernel& kernel : test::integer_kernels()) {
      if (kernel.name() != bound.kernel || bound.group != 0) continue;
      const bool reads = kernel.signature().bindings[bound.binding].access == Access::read;
      EXPECT_EQ(bound.type, reads ? BindingType::read_only_storage : BindingType::storage)
          << bound.kernel << " binding " << bound.binding;
      found += reads ? 1 : 0;
    }
  }
  EXPECT_EQ(found, inputs);
}

TEST_P(InputsOnRecord, AndOutputsShareABufferAcrossDispatches) {
  {
    Client client = connect(options());
    Handle x = client.create(counted(64));
    for (std::uint32_t i = 0; i < 6; ++i) {  // ping and pong: each is written, then read
      Handle y = client.empty(256);
      client.launch(test::scale_kernel(), Grid{1}, {x, y}, test::Scale{3, i, 64});
      x = std::move(y);
    }
    Words expected = counted(64);
    for (std::uint32_t i = 0; i < 6; ++i) expected = scaled(expected, 3, i);
    expect_words(client.read<std::uint32_t>(x), expected);
  }
  std::map<std::pair<ObjectId, ObjectId>, std::set<BindingType>> uses;  // by encoder and buffer
  for (const Bound& bound : bindings_of(recording())) {
    if (bound.group == 0) uses[{bound.encoder, bound.buffer}].insert(bound.type);
  }
  const auto both =
      std::ranges::count_if(uses, [](const auto& use) { return use.second.size() == 2; });
  EXPECT_GE(both, 2) << "no buffer was written by one kernel of an encoder and read by another";
}

}  // namespace
}  // namespace berth::conformance
