// SPDX-License-Identifier: Apache-2.0
#include "platform/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

#include "base/text.hpp"
#include "berth/error.hpp"

namespace berth::platform {

namespace {

std::string path_of(void* handle, const std::string& otherwise) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr ||
      map->l_name == nullptr || *map->l_name == '\0') {
    return otherwise;
  }
  return map->l_name;
}

}  // namespace

// RTLD_LOCAL: two WebGPU libraries export the same names and may live in one process.
DynamicLibrary::DynamicLibrary(const std::string& path_or_name)
    : handle_(dlopen(path_or_name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ == nullptr) {
    const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it per thread
    throw Error(ErrorCode::unavailable,
                text("The library \"", path_or_name, "\" cannot be loaded: ",
                     reason != nullptr ? reason : "the loader gives no reason", "."));
  }
  path_ = path_of(handle_, path_or_name);
}

void* DynamicLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): we never set any
  return value != nullptr ? value : "";
}

}  // namespace berth::platform
