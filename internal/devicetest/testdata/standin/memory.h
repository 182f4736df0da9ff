// Memory of the stand-in and pinned memory of the host; what is free is filled with a
// pattern.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "streams.h"

namespace {

constexpr unsigned char kPoison = 0xA7;

// A Block is device memory. It belongs to the stream that it was made on, or to a pool
// of graphs.
struct Block {
  void* at;
  size_t bytes;
  c10::DeviceIndex device;
  int64_t stream;
  c10::MempoolId_t pool{0, 0};
  std::set<int64_t> others;  // streams that use it besides
};
std::unordered_map<void*, Block*> blocks;
std::map<std::pair<int, int64_t>, std::multimap<size_t, Block*>> unused;
std::map<c10::MempoolId_t, std::multimap<size_t, Block*>> pools;

void Guard::recordDataPtrOnStream(const c10::DataPtr& p, const c10::Stream& s) const {
  std::lock_guard<std::recursive_mutex> lock(mu);
  const auto found = blocks.find(p.get());
  if (found != blocks.end() && found->second->stream != s.id()) found->second->others.insert(s.id());
}

void free_block(void* p) {
  std::lock_guard<std::recursive_mutex> lock(mu);
  Block* const b = blocks.at(p);
  blocks.erase(p);
  counters.live -= static_cast<int64_t>(b->bytes);
  const auto poison = [b] { std::memset(b->at, kPoison, b->bytes); };
  if (b->pool != c10::MempoolId_t{0, 0}) {
    if (capture != nullptr && capture->pool == b->pool) capture->work.push_back(poison);
    pools[b->pool].emplace(b->bytes, b);
    return;
  }
  for (const int64_t other : b->others) {
    Event e;
    e.device = b->device;
    e.stream = other;
    e.done = std::make_shared<bool>(false);
    queues[b->device][other].push_back([done = e.done] { *done = true; });
    queues[b->device][b->stream].push_back([e] { drain_until(e); });
  }
  b->others.clear();
  queues[b->device][b->stream].push_back(poison);
  unused[{b->device, b->stream}].emplace(b->bytes, b);
}

struct DeviceAllocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t n) override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    const size_t bytes = (std::max<size_t>(n, 1) + 511) / 512 * 512;
    const int64_t stream = stream_now[device_now];
    auto& list = capture != nullptr ? pools[capture->pool] : unused[{device_now, stream}];
    const auto found = list.find(bytes);
    Block* b;
    if (found != list.end()) {
      b = found->second;
      list.erase(found);
    } else {
      b = new Block{std::aligned_alloc(512, bytes), bytes, device_now, stream};
      std::memset(b->at, kPoison, bytes);
      if (capture != nullptr) b->pool = capture->pool;
    }
    blocks[b->at] = b;
    counters.live += static_cast<int64_t>(bytes);
    counters.peak = std::max(counters.peak, counters.live);
    return {b->at, b->at, &free_block, c10::Device(kKind, device_now)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, size_t n) const override { std::memcpy(to, from, n); }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr& p, c10::Stream s) override { Guard().recordDataPtrOnStream(p, s); }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    c10::CachingDeviceAllocator::DeviceStats s;
    s.allocated_bytes[0].current = counters.live;
    s.allocated_bytes[0].peak = counters.peak;
    return s;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
};
DeviceAllocator device_allocator;
REGISTER_ALLOCATOR(kKind, &device_allocator);

// Pinned memory. A copy that pends keeps it, as the host allocator of a GPU does by an
// event; memory that is free is filled with the pattern.
std::map<const char*, size_t> pinned;

void free_pinned(void* p) {
  std::lock_guard<std::recursive_mutex> lock(mu);
  const auto found = pinned.find(static_cast<char*>(p));
  std::memset(p, kPoison, found->second);
  pinned.erase(found);
  std::free(p);
}

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    const size_t bytes = (std::max<size_t>(n, 1) + 63) / 64 * 64;
    char* const p = static_cast<char*>(std::aligned_alloc(64, bytes));
    std::memset(p, kPoison, bytes);
    pinned[p] = bytes;
    return {p, p, &free_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, size_t n) const override { std::memcpy(to, from, n); }
};
PinnedAllocator pinned_allocator;

bool is_pinned(const void* p) {
  std::lock_guard<std::recursive_mutex> lock(mu);
  auto after = pinned.upper_bound(static_cast<const char*>(p));
  if (after == pinned.begin()) return false;
  --after;
  return static_cast<const char*>(p) < after->first + after->second;
}

}  // namespace
