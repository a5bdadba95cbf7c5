// SPDX-License-Identifier: Apache-2.0
//
// The public verbs: thin, they hand over to the stream or the core.
#include "berth/client.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "client/core.hpp"
#include "client/stream_state.hpp"
#include "runtime/registry.hpp"

namespace berth {

// Stream ------------------------------------------------------------------------------------------

void Stream::launch(const Kernel& kernel, Grid grid, std::initializer_list<Binding> bindings,
                    const Uniforms& uniforms, const LaunchOptions& options) {
  state_->launch(kernel, grid, {bindings.begin(), bindings.size()}, uniforms, options);
}
void Stream::launch(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
                    const Uniforms& uniforms, const LaunchOptions& options) {
  state_->launch(kernel, grid, bindings, uniforms, options);
}
void Stream::launch_indirect(const Kernel& kernel, const Binding& counts,
                             std::initializer_list<Binding> bindings, const Uniforms& uniforms,
                             const LaunchOptions& options) {
  state_->launch_indirect(kernel, counts, {bindings.begin(), bindings.size()}, uniforms, options);
}
void Stream::launch_indirect(const Kernel& kernel, const Binding& counts,
                             std::span<const Binding> bindings, const Uniforms& uniforms,
                             const LaunchOptions& options) {
  state_->launch_indirect(kernel, counts, bindings, uniforms, options);
}
void Stream::upload(const Binding& target, std::span<const std::byte> data) {
  state_->upload(target, data);
}
void Stream::fill(const Binding& target, std::uint32_t value) { state_->fill(target, value); }
void Stream::copy(const Binding& source, const Binding& target) { state_->copy(source, target); }
std::shared_ptr<client::ReadState> Stream::read_bytes(std::span<const Binding> sources) {
  return state_->read(sources);
}
void Stream::flush() { state_->flush(); }
void Stream::sync() { state_->sync(); }
bool Stream::would_fit(Bytes budget) const { return state_->would_fit(budget); }
void Stream::step_end() { state_->flush(); }
void Stream::discard() { state_->discard(); }

// Client ------------------------------------------------------------------------------------------

Handle Client::empty(Bytes bytes, TensorOptions options, std::source_location where) {
  return core_->make_tensor(bytes, std::move(options), where);
}

Handle Client::zeros(Bytes bytes, TensorOptions options, std::source_location where) {
  Handle tensor = core_->make_tensor(bytes, std::move(options), where);
  fill(tensor, 0);
  return tensor;
}

Handle Client::create_bytes(std::span<const std::byte> data, TensorOptions options,
                            std::source_location where) {
  Handle tensor = core_->make_tensor(data.size(), std::move(options), where);
  stream().upload(tensor, data);
  return tensor;
}

Stream Client::stream() const {
  return Stream({core_, &core_->default_stream()});  // shares the core's life
}

Stream Client::make_stream() {
  return Stream(std::shared_ptr<client::StreamState>(
      &core_->take_stream(),
      [core = core_](client::StreamState* stream) { core->give_stream(*stream); }));
}

void Client::launch(const Kernel& kernel, Grid grid, std::initializer_list<Binding> bindings,
                    const Uniforms& uniforms, const LaunchOptions& options) {
  core_->default_stream().launch(kernel, grid, {bindings.begin(), bindings.size()}, uniforms,
                                 options);
}
void Client::launch(const Kernel& kernel, Grid grid, std::span<const Binding> bindings,
                    const Uniforms& uniforms, const LaunchOptions& options) {
  core_->default_stream().launch(kernel, grid, bindings, uniforms, options);
}
void Client::launch_indirect(const Kernel& kernel, const Binding& counts,
                             std::initializer_list<Binding> bindings, const Uniforms& uniforms,
                             const LaunchOptions& options) {
  core_->default_stream().launch_indirect(kernel, counts, {bindings.begin(), bindings.size()},
                                          uniforms, options);
}
void Client::launch_indirect(const Kernel& kernel, const Binding& counts,
                             std::span<const Binding> bindings, const Uniforms& uniforms,
                             const LaunchOptions& options) {
  core_->default_stream().launch_indirect(kernel, counts, bindings, uniforms, options);
}
void Client::fill(const Binding& target, std::uint32_t value) {
  core_->default_stream().fill(target, value);
}
void Client::copy(const Binding& source, const Binding& target) {
  core_->default_stream().copy(source, target);
}
void Client::flush() { stream().flush(); }
void Client::sync() { stream().sync(); }
void Client::step_end() { stream().step_end(); }
void Client::discard() { stream().discard(); }

void Client::prepare(std::span<const Kernel> kernels) {
  const auto lock = core_->lock();
  for (const Kernel& kernel : kernels) core_->compile(kernel);
}
void Client::poll() {
  core_->check_device();
  (void)core_->backend().poll();
  core_->run_callbacks();
}
bool Client::would_fit(Bytes budget) const { return stream().would_fit(budget); }
Report Client::report() const { return core_->report(); }
std::string Client::last_plan() const { return core_->last_plan(); }
Bytes Client::trim(Bytes keep) { return core_->trim(keep); }
const ConnectOptions& Client::options() const { return core_->options(); }
std::vector<std::pair<std::string, std::string>> Client::device_facts() const {
  return core_->device().facts;
}

std::vector<Slice> segments(const Handle& tensor, Bytes most, Bytes alignment) {
  if (alignment == 0 || alignment % 4 != 0 || most < alignment || most % 4 != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        text("segments() was asked for slices of at most ", most, " bytes at multiples of ",
             alignment, "; both must be multiples of 4 and the first not the smaller one."));
  }
  std::vector<Slice> slices;
  const Bytes step = align_down(most, alignment);
  for (Bytes offset = 0; offset < tensor.bytes(); offset += step) {
    slices.push_back(tensor.slice(offset, std::min(step, tensor.bytes() - offset)));
  }
  return slices;
}

// Connecting --------------------------------------------------------------------------------------

Client connect(const ConnectOptions& options) {
  auto core = std::make_shared<client::Core>(options, runtime::make_backend(options));
  // Callbacks hold their result, which holds the core: they end with the last client.
  return Client(std::shared_ptr<client::Core>(core.get(), [core](client::Core* c) mutable {
    c->forget_callbacks();
    core.reset();
  }));
}

std::vector<RuntimeInfo> runtimes(const ConnectOptions& options) {
  std::vector<RuntimeInfo> infos;
  for (const runtime::RegisteredRuntime& known : runtime::registered_runtimes()) {
    RuntimeInfo& info = infos.emplace_back();
    info.name = known.name;
    ConnectOptions named = options;
    named.runtime = known.name;
    try {
      info.facts = runtime::make_backend(named)->capabilities().facts;
    } catch (const Error& error) {
      info.why_not = error.what();
    }
  }
  return infos;
}

}  // namespace berth
