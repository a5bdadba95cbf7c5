// SPDX-License-Identifier: Apache-2.0
//
// The functions of the CUDA driver and of NVRTC that this runtime calls, and no other: every call
// goes through these tables, which are filled from libraries loaded at run time. The build links
// neither. A test may put a fake in their place.
#pragma once

#include <cuda.h>
#include <nvrtc.h>

#include <functional>
#include <span>
#include <string>

namespace berth::runtime::cuda {

// Members are named without the prefix. cuda.h maps a name to its version ("cuMemAlloc_v2"), and
// that is the name looked up. cuCtxCreate and cuGraphAddNode are not here: CUDA 13 changed them.
#define BERTH_CUDA_DRIVER(X)      \
  X(CtxGetDevice)                 \
  X(CtxPopCurrent)                \
  X(CtxPushCurrent)               \
  X(DeviceGet)                    \
  X(DeviceGetAttribute)           \
  X(DeviceGetCount)               \
  X(DeviceGetName)                \
  X(DevicePrimaryCtxRelease)      \
  X(DevicePrimaryCtxRetain)       \
  X(DeviceTotalMem)               \
  X(DriverGetVersion)             \
  X(EventCreate)                  \
  X(EventDestroy)                 \
  X(EventQuery)                   \
  X(EventRecord)                  \
  X(EventSynchronize)             \
  X(FuncGetAttribute)             \
  X(GetErrorName)                 \
  X(GetErrorString)               \
  X(GraphAddKernelNode)           \
  X(GraphAddMemcpyNode)           \
  X(GraphAddMemsetNode)           \
  X(GraphCreate)                  \
  X(GraphDestroy)                 \
  X(GraphExecDestroy)             \
  X(GraphExecKernelNodeSetParams) \
  X(GraphExecMemcpyNodeSetParams) \
  X(GraphInstantiateWithFlags)    \
  X(GraphLaunch)                  \
  X(GraphNodeSetEnabled)          \
  X(Init)                         \
  X(LaunchKernel)                 \
  X(MemAlloc)                     \
  X(MemAllocFromPoolAsync)        \
  X(MemFree)                      \
  X(MemFreeAsync)                 \
  X(MemFreeHost)                  \
  X(MemHostAlloc)                 \
  X(MemPoolCreate)                \
  X(MemPoolDestroy)               \
  X(MemPoolTrimTo)                \
  X(MemcpyDtoDAsync)              \
  X(MemcpyDtoHAsync)              \
  X(MemcpyHtoDAsync)              \
  X(MemsetD32Async)               \
  X(ModuleGetFunction)            \
  X(ModuleLoadData)               \
  X(ModuleUnload)                 \
  X(StreamBeginCapture)           \
  X(StreamCreate)                 \
  X(StreamDestroy)                \
  X(StreamEndCapture)             \
  X(StreamSynchronize)

#define BERTH_CUDA_NVRTC(X) \
  X(CompileProgram)         \
  X(CreateProgram)          \
  X(DestroyProgram)         \
  X(GetCUBIN)               \
  X(GetCUBINSize)           \
  X(GetErrorString)         \
  X(GetNumSupportedArchs)   \
  X(GetPTX)                 \
  X(GetPTXSize)             \
  X(GetProgramLog)          \
  X(GetProgramLogSize)      \
  X(GetSupportedArchs)      \
  X(Version)

/// The CUDA driver API.
struct DriverTable {
#define BERTH_CUDA_MEMBER(name) decltype(&::cu##name) name = nullptr;  // NOLINT: a member's name
  BERTH_CUDA_DRIVER(BERTH_CUDA_MEMBER)
#undef BERTH_CUDA_MEMBER
};

/// The run-time compiler.
struct NvrtcTable {
#define BERTH_CUDA_MEMBER(name) decltype(&::nvrtc##name) name = nullptr;  // NOLINT: likewise
  BERTH_CUDA_NVRTC(BERTH_CUDA_MEMBER)
#undef BERTH_CUDA_MEMBER
};

/// Address of a function by its full name, or nullptr.
using Lookup = std::function<void*(const char* name)>;

/// Fill a table; `from` names the source in errors.
/// Errors: Error(unavailable) naming the first function that is missing.
[[nodiscard]] DriverTable fill_driver(const Lookup& lookup, const std::string& from);
[[nodiscard]] NvrtcTable fill_nvrtc(const Lookup& lookup, const std::string& from);

/// Full names of the driver's functions, for tests.
[[nodiscard]] std::span<const char* const> driver_entry_points();

}  // namespace berth::runtime::cuda
