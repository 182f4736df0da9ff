// A device for tests: its memory is the host's and its kernels are the CPU's, and it
// is as strict about order as a GPU is asynchronous.
//
// A stream is a queue. Copies through pinned memory, events and the end of a block's
// life lie in it until somebody waits for it or a kernel is given to it; kernels then
// run at once. A block that is freed is filled with a pattern when its stream gets
// there. So a wait that is missing shows in the numbers: a result that is read too
// early, a value that is used on another stream, memory that is used after its life.
//
// Graphs keep what is given to a stream while they are captured, and do it when they
// are replayed; what a GPU refuses in a capture is refused here. Counters tell how
// often the host has waited.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <torch/library.h>

#include <cstring>
#include <memory>
#include <vector>

#include "../../../cgo/bridge/graphs.h"
#include "standin/kernels.h"
#include "standin/memory.h"
#include "standin/streams.h"

namespace {

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  bool isPinnedPtr(const void* p) const override { return is_pinned(p); }
  // seeded with all others, and never drawn from: kernels take the CPU's
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    static const at::Generator g = at::make_generator<at::CPUGeneratorImpl>();
    return g;
  }
};

std::vector<int64_t> count() {
  std::lock_guard<std::recursive_mutex> lock(mu);
  return {counters.event_waits, counters.stream_waits, counters.reads, counters.kernels, counters.replays, counters.pinned_copies, counters.plain_copies, counters.live, static_cast<int64_t>(counters.streams.size())};
}

TORCH_LIBRARY(standin, m) { m.def("count() -> int[]", count); }

struct StandinGraph final : tfx::Graph {
  explicit StandinGraph(tfx::GraphPool& pool) {
    std::lock_guard<std::recursive_mutex> lock(mu);
    static uint64_t next = 0;
    TORCH_CHECK(capture == nullptr, "a capture within a capture");
    TORCH_CHECK(stream_now[device_now] != 0, "graphs must be captured on a non-default stream");
    if (pool == tfx::GraphPool{0, 0}) pool = {0, ++next};
    c_ = {device_now, stream_now[device_now], pool, {}};
    capture = &c_;
  }
  ~StandinGraph() override {
    if (capture == &c_) capture = nullptr;
  }
  void end() override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    TORCH_CHECK(capture == &c_, "the end of no capture");
    capture = nullptr;
    for (const auto& entry : blocks) {
      if (entry.second->pool == c_.pool) std::memset(entry.second->at, kPoison, entry.second->bytes);
    }
  }
  void replay() override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    TORCH_CHECK(capture != &c_, "a replay during the capture");
    counters.replays++;
    drain(device_now, stream_now[device_now]);
    for (const auto& f : c_.work) f();
  }
  Capture c_;
};

struct StandinGraphs final : tfx::Graphs {
  c10::DeviceType device_type() const override { return kKind; }
  std::unique_ptr<tfx::Graph> begin(tfx::GraphPool& pool) override { return std::make_unique<StandinGraph>(pool); }
};

const bool registered = [] {
  c10::register_privateuse1_backend("standin");
  at::RegisterPrivateUse1HooksInterface(new Hooks());
  return true;
}();

}  // namespace

extern "C" __attribute__((visibility("default"))) tfx::Graphs* tfx_graphs(uint32_t abi) {
  static StandinGraphs graphs;
  return abi == tfx::kGraphsABI ? &graphs : nullptr;
}
