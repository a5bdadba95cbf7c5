// SPDX-License-Identifier: Apache-2.0
//
// A host with a WebGPU device of its own: berth adopts it and leaves it as it was.
#include "conformance_fixture.hpp"
#include "host_adapter.hpp"
#include "support/wgpu_judge.hpp"

namespace berth::conformance {
namespace {

constexpr WGPUBufferUsage kPage =
    WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
// Of these usages no two go together.
constexpr WGPUBufferUsage kBadUsage = WGPUBufferUsage_MapRead | WGPUBufferUsage_MapWrite;

class HostDevice : public Conformance {
 protected:
  [[nodiscard]] ConnectOptions adopting(const test::RawDevice& host) const {
    ConnectOptions adopted = options();
    adopted.webgpu.adapter_name.clear();
    adopted.webgpu.backend.clear();
    adopted.webgpu.instance = host.instance();
    adopted.webgpu.adapter = host.adapter();
    adopted.webgpu.device = host.device();
    adopted.webgpu.queue = host.queue();
    return adopted;
  }
  static void work(Client& client) {
    const Handle x = client.create(counted(64));
    const Handle y = client.empty(256);
    client.launch(test::scale_kernel(), Grid{1}, {x, y}, test::Scale{3, 1, 64});
    expect_words(client.read<std::uint32_t>(y), scaled(counted(64), 3, 1));
  }
  /// The host's own work on its own buffers.
  static void work(test::RawDevice& host) {
    WGPUBuffer source = host.make_buffer(256, kPage, "the host's source");
    WGPUBuffer target = host.make_buffer(256, kPage, "the host's target");
    host.write(source, counted(64));
    WGPUBindGroup group = host.make_group(source, 0, target, 0);
    host.push();
    WGPUCommandBuffer commands = host.encode(group);
    EXPECT_EQ(host.pop(), "");
    host.submit(commands);
    host.api().CommandBufferRelease(commands);
    const Words result = host.read(target, 64);
    if (computes()) {
      EXPECT_EQ(result, counted(64, 1));
    }
    host.api().BindGroupRelease(group);
    for (WGPUBuffer buffer : {source, target}) {
      host.api().BufferDestroy(buffer);
      host.api().BufferRelease(buffer);
    }
  }
};
BERTH_UNDER_EVERY_POLICY(HostDevice);

TEST_P(HostDevice, IsAdoptedAndLeftUntouched) {
  ignore_verdicts({test::Rule::undeclared_pipeline, test::Rule::submit_without_scope});
  const ConnectOptions through = options();
  test::RawDevice host(host_adapter(), through.webgpu.get_proc, through.webgpu.get_proc_user);
  work(host);
  const auto devices = recording().all<test::DeviceSeen>().size();
  for (int round = 0; round < 2; ++round) {
    Client client = connect(adopting(host));
    work(client);
    work(host);
    work(client);
  }
  EXPECT_EQ(recording().all<test::DeviceSeen>().size(), devices) << "a device was made";
  work(host);
  EXPECT_THAT(host.lost(), testing::IsEmpty());
  EXPECT_THAT(host.uncaptured(), testing::IsEmpty());
}

TEST_P(HostDevice, KeepsItsErrorScopesAndCallbacks) {
  ignore_verdicts({test::Rule::error, test::Rule::uncaptured_error, test::Rule::undeclared_pipeline,
                   test::Rule::submit_after_error});
  const ConnectOptions through = options();
  test::RawDevice host(host_adapter(), through.webgpu.get_proc, through.webgpu.get_proc_user);
  const auto drop = [&](WGPUBuffer buffer) {
    if (buffer == nullptr) return;
    host.api().BufferDestroy(buffer);
    host.api().BufferRelease(buffer);
  };
  {
    Client client = connect(adopting(host));
    host.push();  // a scope of the host's that is open while berth works
    work(client);
    EXPECT_EQ(host.pop(), "") << "the host's scope caught an error of berth's, or was popped by it";

    host.push();
    drop(host.make_buffer(64, kBadUsage, "bad"));
    work(client);
    EXPECT_NE(host.pop(), "") << "the host's own error has left its scope";

    KernelSignature signature;
    signature.name = "broken";
    signature.bindings = {{"x", Element::u32, Access::read_write, 1}};
    signature.workgroup = {64, 1, 1};
    KernelCode wgsl;
    wgsl.source = "this is no WGSL";
    const Kernel broken(signature, {wgsl});
    const Handle x = client.zeros(256);
    EXPECT_THROW(client.launch(broken, Grid{1}, {x}), Error);
    EXPECT_THAT(host.uncaptured(), testing::IsEmpty()) << "an error of berth's reached the host";
    work(client);

    drop(host.make_buffer(64, kBadUsage, "bad"));
    work(client);
  }
  work(host);
  EXPECT_EQ(host.uncaptured().size(), 1U) << "the host's callback does not hear its own error";
  EXPECT_THAT(host.lost(), testing::IsEmpty());
}

}  // namespace
}  // namespace berth::conformance
