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
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "../../../cgo/bridge/graphs.h"

namespace {

constexpr c10::DeviceType kKind = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex kDevices = 2;
constexpr int kStreams = 33;
constexpr unsigned char kPoison = 0xA7;

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

// host returns a CPU tensor over the memory of t.
at::Tensor host(const at::Tensor& t) {
  if (!t.defined() || t.device().type() != kKind) return t;
  at::Tensor h = at::from_blob(const_cast<void*>(t.storage().data()), {static_cast<int64_t>(t.storage().nbytes() / t.element_size())}, t.options().device(c10::kCPU).requires_grad(false))
      .as_strided(t.sizes(), t.strides(), t.storage_offset());
  if (t.is_complex()) h._set_conj(t.is_conj());
  h._set_neg(t.is_neg());
  return h;
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> dtype, std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  const c10::Device d = device.has_value() && device->has_index() ? *device : Guard().getDevice();
  const c10::DeviceIndex before = device_now;
  device_now = d.index();
  const auto type = dtype.value_or(c10::get_default_dtype_as_scalartype());
  const auto bytes = at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type));
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes, device_allocator.allocate(bytes), &device_allocator, true);
  device_now = before;
  at::Tensor t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::scalarTypeToTypeMeta(type));
  t.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return t;
}

std::vector<int64_t> contiguous(at::IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t n = 1;
  for (size_t d = sizes.size(); d-- > 0; n *= std::max<int64_t>(sizes[d], 1)) strides[d] = n;
  return strides;
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout, std::optional<at::Device> device, std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
  const auto f = format.value_or(at::MemoryFormat::Contiguous);
  std::vector<int64_t> strides = f == at::MemoryFormat::ChannelsLast ? c10::get_channels_last_strides_2d(sizes) : f == at::MemoryFormat::ChannelsLast3d ? c10::get_channels_last_strides_3d(sizes) : contiguous(sizes);
  return empty_strided(sizes, strides, dtype, layout, device, pin);
}

at::Tensor alias(const at::Tensor& t, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
  at::Tensor r = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(t.storage()), t.key_set(), t.dtype());
  r.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return r;
}

at::Tensor as_strided(const at::Tensor& t, at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<int64_t> offset) { return alias(t, sizes, strides, offset.value_or(t.storage_offset())); }

at::Tensor view(const at::Tensor& t, at::IntArrayRef sizes) {
  const auto inferred = at::infer_size_dv(sizes, t.numel());
  const auto strides = at::detail::computeStride(t.sizes(), t.strides(), inferred);
  TORCH_CHECK(strides.has_value(), "view size is not compatible with input tensor's size and stride");
  return alias(t, inferred, *strides, t.storage_offset());
}

at::Tensor reshape_alias(const at::Tensor& t, at::IntArrayRef sizes, at::IntArrayRef strides) { return alias(t, sizes, strides, t.storage_offset()); }

const at::Tensor& resize_(const at::Tensor& t, at::IntArrayRef sizes, std::optional<at::MemoryFormat>) {
  const size_t need = at::detail::computeStorageNbytesContiguous(sizes, t.element_size(), t.storage_offset());
  if (need > t.storage().nbytes()) {
    c10::StorageImpl* const s = t.storage().unsafeGetStorageImpl();
    at::DataPtr grown = device_allocator.allocate(need);
    s->set_data_ptr(std::move(grown));
    s->set_nbytes(need);
  }
  t.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return t;
}

at::Scalar local_scalar(const at::Tensor& t) {
  std::lock_guard<std::recursive_mutex> lock(mu);
  refuse_capture("item");
  counters.reads++;
  drain(device_now, stream_now[device_now]);
  return host(t).item();
}

// copy_from is the one way between host and device. Through pinned memory, and where
// nobody waits, it pends; so does a copy on the device.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  std::lock_guard<std::recursive_mutex> lock(mu);
  c10::DeviceGuard on(from.device().type() == kKind ? from.device() : to.device());
  const bool inside = from.device().type() == kKind && to.device().type() == kKind;
  const at::Tensor a = host(from), b = host(to);
  if (inside) {
    const auto copy = [a, b] { at::Tensor(b).copy_(a); };
    if (capture == nullptr) drain(device_now, stream_now[device_now]), copy();
    else enqueue(copy);
    return to;
  }
  const at::Tensor& mine = from.is_cpu() ? from : to;
  if (non_blocking && is_pinned(mine.const_data_ptr())) {
    counters.pinned_copies++;
    counters.streams.insert({device_now, stream_now[device_now]});
    enqueue([a, b, keep = mine] { at::Tensor(b).copy_(a); });
    return to;
  }
  refuse_capture("copy from or to memory that is not pinned");
  counters.plain_copies++;
  drain(device_now, stream_now[device_now]);
  at::Tensor(b).copy_(a);
  return to;
}

// A Kernel is an operator that runs on the memory of its arguments.
struct Kernel {
  c10::OperatorHandle op;
  torch::jit::Stack args;

  // on_host replaces device tensors by what f makes of them; pairs holds both.
  template <class F>
  static c10::IValue on_host(const c10::IValue& v, F&& f) {
    if (v.isTensor()) return v.toTensor().defined() ? f(v.toTensor()) : v;
    if (v.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : v.toTensorVector()) list.push_back(t.defined() ? f(t) : t);
      return list;
    }
    if (v.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& t : v.toOptionalTensorList()) list.push_back(t.has_value() && t->defined() ? std::optional<at::Tensor>(f(*t)) : t);
      return list;
    }
    if (v.isDevice()) return c10::Device(c10::kCPU);
    return v;
  }

  // run calls the CPU's kernel; own makes it work on copies of its arguments.
  torch::jit::Stack run(bool own, std::vector<std::pair<at::Tensor, at::Tensor>>& pairs) const {
    torch::jit::Stack stack;
    for (const c10::IValue& v : args) {
      stack.push_back(on_host(v, [&](const at::Tensor& t) {
        if (t.device().type() != kKind) return t;
        for (const auto& p : pairs) {
          if (p.first.is_same(t)) return p.second;
        }
        // an out argument without elements is one to be resized
        pairs.emplace_back(t, own ? host(t).clone() : t.numel() == 0 ? at::empty({0}, host(t).options()) : host(t));
        return pairs.back().second;
      }));
    }
    op.callBoxed(stack);
    return stack;
  }
};

at::Tensor to_device(const at::Tensor& t, c10::Device d) {
  const auto dense = contiguous(t.sizes());
  return empty_strided(t.sizes(), t.is_non_overlapping_and_dense() ? t.strides() : at::IntArrayRef(dense), t.scalar_type(), c10::kStrided, d, false);
}

// fallback runs an operator of which the device has no kernel of its own.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  std::lock_guard<std::recursive_mutex> lock(mu);
  const size_t n = op.schema().arguments().size();
  Kernel k{op, {stack->end() - static_cast<int64_t>(n), stack->end()}};
  stack->erase(stack->end() - static_cast<int64_t>(n), stack->end());
  std::optional<c10::Device> device;
  for (const c10::IValue& v : k.args) {
    Kernel::on_host(v, [&](const at::Tensor& t) {
      if (t.device().type() == kKind) device = t.device();
      else TORCH_CHECK(t.dim() == 0, "Expected all tensors to be on the same device, but ", op.schema().name(), " got one on ", t.device());
      return t;
    });
    if (v.isDevice() && !device) device = v.toDevice();
  }
  if (!device || !device->has_index()) device = Guard().getDevice();
  c10::DeviceGuard on(*device);
  if (op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output)) {
    refuse_capture(op.schema().name().c_str());
    counters.reads++;
  }
  counters.kernels++;
  counters.streams.insert({device_now, stream_now[device_now]});
  if (capture == nullptr) drain(device_now, stream_now[device_now]);
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  at::Generator random = at::detail::getDefaultCPUGenerator();
  const at::Tensor before = capture != nullptr ? random.get_state() : at::Tensor();
  const torch::jit::Stack made = k.run(capture != nullptr, pairs);
  if (before.defined()) random.set_state(before);  // what is captured is drawn when it is replayed
  std::vector<at::Tensor> results;  // in the order of the tensors in made
  for (const c10::IValue& v : made) {
    stack->push_back(Kernel::on_host(v, [&](const at::Tensor& t) {
      for (const auto& p : pairs) {
        if (!p.second.is_same(t)) continue;
        results.emplace_back();
        if (p.first.sizes() == t.sizes()) return p.first;
        resize_(p.first, t.sizes(), std::nullopt);
        host(p.first).copy_(t);
        return p.first;
      }
      at::Tensor r = to_device(t, *device);
      host(r).copy_(t);  // also in a capture, for those behind it; its end takes it away
      results.push_back(r);
      return r;
    }));
  }
  if (capture == nullptr) return;
  // Addresses stay; tensors must not, or no memory would be free before the end.
  for (c10::IValue& v : k.args) v = Kernel::on_host(v, [](const at::Tensor& t) { return host(t); });
  for (at::Tensor& r : results) r = host(r);
  capture->work.push_back([k, results] {
    std::vector<std::pair<at::Tensor, at::Tensor>> none;
    size_t i = 0;
    for (const c10::IValue& v : k.run(false, none)) {
      Kernel::on_host(v, [&](const at::Tensor& t) {
        if (results[i].defined()) at::Tensor(results[i]).copy_(t);
        i++;
        return t;
      });
    }
  });
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("as_strided", as_strided);
  m.impl("view", view);
  m.impl("_reshape_alias", reshape_alias);
  m.impl("resize_", resize_);
  m.impl("_local_scalar_dense", local_scalar);
  m.impl("_copy_from", copy_from);
  // Those that PyTorch takes apart for an unknown device in a way of its own.
  for (const char* op : {"convolution", "_convolution", "lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input"}) {
    m.impl(op, torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
}

// As of copy_, which it is a part of: a copy does what is outstanding.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

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
