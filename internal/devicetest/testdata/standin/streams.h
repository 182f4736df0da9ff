// Streams, events and captures of the stand-in. This and the other headers here are of
// one translation unit.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace {

constexpr c10::DeviceType kKind = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex kDevices = 2;
constexpr int kStreams = 33;

std::recursive_mutex mu;  // of all that follows

struct Counters {
  int64_t event_waits = 0, stream_waits = 0, reads = 0, kernels = 0, replays = 0, pinned_copies = 0, plain_copies = 0, live = 0, peak = 0;
  std::set<std::pair<int, int64_t>> streams;
} counters;

// A Capture is what was given to a stream between begin and end.
struct Capture {
  c10::DeviceIndex device;
  int64_t stream;
  c10::MempoolId_t pool;
  std::vector<std::function<void()>> work;
};
thread_local Capture* capture = nullptr;

void refuse_capture(const char* what) { TORCH_CHECK(capture == nullptr, what, ": operation not permitted when stream is capturing"); }

// An Event is a place in a stream; nothing pends where it was not recorded.
struct Event {
  std::shared_ptr<bool> done = std::make_shared<bool>(true);
  c10::DeviceIndex device = 0;
  int64_t stream = 0;
};

using Queue = std::deque<std::function<void()>>;
std::array<std::array<Queue, kStreams>, kDevices> queues;

void drain(c10::DeviceIndex d, int64_t s) {
  Queue& q = queues[d][s];
  while (!q.empty()) {
    auto f = std::move(q.front());
    q.pop_front();
    f();
  }
}

void drain_until(const Event& e) {
  Queue& q = queues[e.device][e.stream];
  while (!*e.done) {
    TORCH_CHECK(!q.empty(), "standin: an event that no queue holds");
    auto f = std::move(q.front());
    q.pop_front();
    f();
  }
}

thread_local c10::DeviceIndex device_now = 0;
thread_local std::array<int64_t, kDevices> stream_now{};

// enqueue gives work to the current stream.
void enqueue(std::function<void()> f) {
  if (capture != nullptr) {
    capture->work.push_back(std::move(f));
  } else {
    queues[device_now][stream_now[device_now]].push_back(std::move(f));
  }
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kKind; }
  c10::Device exchangeDevice(c10::Device d) const override {
    const c10::Device old = getDevice();
    setDevice(d);
    return old;
  }
  c10::Device getDevice() const override { return c10::Device(kKind, device_now); }
  void setDevice(c10::Device d) const override {
    TORCH_CHECK(d.index() >= 0 && d.index() < kDevices, "standin: no device ", d);
    device_now = d.index();
  }
  void uncheckedSetDevice(c10::Device d) const noexcept override { device_now = d.index(); }
  c10::Stream named(c10::DeviceIndex d, int64_t id) const { return c10::Stream(c10::Stream::UNSAFE, c10::Device(kKind, d), id); }
  c10::Stream getStream(c10::Device d) const override { return named(d.index(), stream_now[d.index()]); }
  c10::Stream getDefaultStream(c10::Device d) const override { return named(d.index(), 0); }
  c10::Stream getNewStream(c10::Device d, int) const override { return getStreamFromGlobalPool(d, false); }
  c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override {
    static std::array<int64_t, kDevices> next{};
    std::lock_guard<std::recursive_mutex> lock(mu);
    return named(d.index(), 1 + next[d.index()]++ % (kStreams - 1));
  }
  c10::Stream exchangeStream(c10::Stream s) const override {
    const auto old = getStream(s.device());
    stream_now[s.device_index()] = s.id();
    return old;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }

  void record(void** event, const c10::Stream& s, const c10::DeviceIndex, const c10::EventFlag) const override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    refuse_capture("event");
    if (*event == nullptr) *event = new Event();
    Event& e = *static_cast<Event*>(*event);
    e.device = s.device_index();
    e.stream = s.id();
    e.done = std::make_shared<bool>(false);
    queues[e.device][e.stream].push_back([done = e.done] { *done = true; });
  }
  void block(void* event, const c10::Stream& s) const override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    if (event == nullptr) return;
    queues[s.device_index()][s.id()].push_back([e = *static_cast<Event*>(event)] { drain_until(e); });
  }
  bool queryEvent(void* event) const override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    return event == nullptr || *static_cast<Event*>(event)->done;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  void synchronizeEvent(void* event) const override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    refuse_capture("wait");
    counters.event_waits++;
    if (event != nullptr) drain_until(*static_cast<Event*>(event));
  }
  bool queryStream(const c10::Stream& s) const override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    return queues[s.device_index()][s.id()].empty();
  }
  void synchronizeStream(const c10::Stream& s) const override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    refuse_capture("wait");
    counters.stream_waits++;
    drain(s.device_index(), s.id());
  }
  void synchronizeDevice(const c10::DeviceIndex d) const override {
    std::lock_guard<std::recursive_mutex> lock(mu);
    refuse_capture("wait");
    counters.stream_waits++;
    for (int64_t s = 0; s < kStreams; s++) drain(d, s);
  }
  void recordDataPtrOnStream(const c10::DataPtr& p, const c10::Stream& s) const override;
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

}  // namespace
