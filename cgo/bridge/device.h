// Devices other than the CPU, by what libtorch registers for each: counts, streams,
// events and memory without the headers of any of them.
#pragma once

#include <ATen/ops/zeros.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <shared_mutex>
#include <string>

#include "error.h"
#include "graphs.h"
#include "mode.h"

namespace tfx {

// guard_of is what libtorch has registered for a kind of device.
inline c10::impl::VirtualGuardImpl guard_of(c10::DeviceType kind) {
  TORCH_CHECK(c10::impl::hasDeviceGuardImpl(kind), c10::DeviceTypeName(kind, true), ": no device: this libtorch has none of that kind");
  return c10::impl::VirtualGuardImpl(kind);
}

inline c10::Device device_of(int32_t kind, int32_t index) {
  const auto type = static_cast<c10::DeviceType>(kind);
  return c10::Device(type, index < 0 ? guard_of(type).getDevice().index() : static_cast<c10::DeviceIndex>(index));
}

inline int32_t device_count(int32_t kind) noexcept {
  const auto type = static_cast<c10::DeviceType>(kind);
  if (kind < 0 || kind >= c10::COMPILE_TIME_MAX_DEVICE_TYPES || type == c10::kCPU || !c10::impl::hasDeviceGuardImpl(type)) return 0;
  return c10::impl::getDeviceGuardImpl(type)->deviceCount();
}

// open_cuda loads libtorch's CUDA half, globally: its own libraries look for its
// symbols. Loading registers the device; its count is the driver's answer.
inline int32_t open_cuda(const char* path, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    watch_warnings();
    if (dlopen(path, RTLD_NOW | RTLD_GLOBAL) == nullptr) throw std::runtime_error(dlerror());
    if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA)) throw std::runtime_error(std::string(path) + " registers no CUDA device");
    out.head(TFX_INT);
    out.word(c10::impl::getDeviceGuardImpl(c10::kCUDA)->deviceCount());
  });
}

// graphs_of is what captures on a kind of device, nullptr where nothing does.
inline std::atomic<Graphs*>& graphs_of(c10::DeviceType kind) {
  static std::array<std::atomic<Graphs*>, c10::COMPILE_TIME_MAX_DEVICE_TYPES> all{};
  return all[static_cast<size_t>(kind)];
}

inline int32_t open_graphs(const char* path, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) {
    watch_warnings();
    void* const lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib == nullptr) throw std::runtime_error(dlerror());
    const auto get = reinterpret_cast<GraphsFn>(dlsym(lib, kGraphsSymbol));
    Graphs* const graphs = get == nullptr ? nullptr : get(kGraphsABI);
    if (graphs == nullptr) throw std::runtime_error(std::string(path) + " is no library of graphs of this bridge");
    graphs_of(graphs->device_type()).store(graphs);
  });
}

// captures is held by one capture at a time, alone, and shared by what must not meet
// one: a capture changes what the generators of its device do, for all threads.
inline std::shared_mutex& captures() {
  static std::shared_mutex mu;
  return mu;
}

// stream_new takes a stream from libtorch's pool and makes the device ready: a thread
// that only sets it may have no context on it yet.
inline int32_t stream_new(int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    Scope scope(nullptr);
    const c10::Device d = device_of(kind, index);
    const auto guard = guard_of(d.type());
    TORCH_CHECK(d.index() < guard.deviceCount(), d, ": no device: expected an index below ", static_cast<int>(guard.deviceCount()), ", the number of devices");
    const c10::Stream s = guard.getStreamFromGlobalPool(d);
    c10::StreamGuard on(s);
    at::zeros({1}, c10::TensorOptions(c10::kFloat).device(d));
    guard.synchronizeStream(s);
    out.word(static_cast<uint64_t>(s.id()));
    out.word(static_cast<uint64_t>(d.index()));
  });
}

inline int32_t device_synchronize(int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) {
    const c10::Device d = device_of(kind, index);
    guard_of(d.type()).synchronizeDevice(d.index());
  });
}

inline int32_t device_memory(int32_t kind, int32_t index, int32_t trim, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const c10::Device d = device_of(kind, index);
    guard_of(d.type());
    auto* const allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(d.type()));
    TORCH_CHECK_NOT_IMPLEMENTED(allocator != nullptr, d, ": its allocator keeps no counts");
    if (!allocator->initialized()) {
      for (int i = 0; i < 4; i++) out.word(0);
      return;
    }
    if (trim != 0) allocator->emptyCache();
    const auto s = allocator->getDeviceStats(d.index());
    const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    out.word(s.allocated_bytes[all].current);
    out.word(s.allocated_bytes[all].peak);
    out.word(s.reserved_bytes[all].current);
    out.word(s.inactive_split_bytes[all].current);
  });
}

}  // namespace tfx
