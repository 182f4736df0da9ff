// Tensors: made, described, read, and let go.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/ops/scalar_tensor.h>

#include <atomic>
#include <mutex>

#include "describe.h"
#include "error.h"
#include "mode.h"
#include "record.h"
#include "value.h"

namespace tfx {

inline void tensor_retain(uint64_t t) noexcept { at::Tensor(tensor(t)).unsafeReleaseTensorImpl(); }

inline void tensor_release(uint64_t t) noexcept { TensorPtr::reclaim(reinterpret_cast<c10::TensorImpl*>(t)); }

inline int32_t tensor_info(uint64_t handle, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const Peek t(handle);
    describe(*t, [&](uint64_t word) { out.word(word); });
  });
}

inline int32_t tensor_new(int32_t dtype, const int64_t* sizes, uint64_t ndim, const void* data, uint64_t nbytes, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    at::Tensor t(at::detail::empty_cpu(c10::IntArrayRef(sizes, ndim), static_cast<c10::ScalarType>(dtype)));
    if (t.nbytes() != nbytes) throw Fault("bridge: the data do not fill the tensor");
    if (nbytes > 0) std::memcpy(t.mutable_data_ptr(), data, nbytes);
    out.tensor(std::move(t));
  });
}

// A Graveyard collects the ids of storages that libtorch has dropped, until the
// program asks: so no C++ thread ever calls into Go. Never destroyed.
class Graveyard {
 public:
  static Graveyard& get() {
    static auto* g = new Graveyard();
    return *g;
  }
  static void bury(void* id) {
    Graveyard& g = get();
    std::lock_guard<std::mutex> lock(g.mu_);
    g.ids_.push_back(reinterpret_cast<uint64_t>(id));
    g.count_.store(g.ids_.size(), std::memory_order_release);
  }
  uint64_t collect(uint64_t* ids, uint64_t n) {
    std::lock_guard<std::mutex> lock(mu_);
    const uint64_t taken = std::min<uint64_t>(n, ids_.size());
    std::copy(ids_.end() - static_cast<int64_t>(taken), ids_.end(), ids);
    ids_.resize(ids_.size() - taken);
    count_.store(ids_.size(), std::memory_order_release);
    return taken;
  }
  const volatile uint64_t* waiting() const {
    static_assert(sizeof(count_) == sizeof(uint64_t), "read as a word by the program");
    return reinterpret_cast<const volatile uint64_t*>(&count_);
  }

 private:
  std::mutex mu_;
  std::vector<uint64_t> ids_;
  std::atomic<uint64_t> count_{0};
};

inline uint64_t collect(uint64_t* ids, uint64_t n) noexcept { return Graveyard::get().collect(ids, n); }

// over makes a tensor that looks at a storage. The caller has checked the bounds.
inline at::Tensor over(c10::Storage storage, c10::Device device, int32_t dtype, const int64_t* sizes, const int64_t* strides, uint64_t ndim, int64_t offset) {
  const auto type = static_cast<c10::ScalarType>(dtype);
  at::Tensor t = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::computeDispatchKey(type, c10::kStrided, device)), caffe2::TypeMeta::fromScalarType(type));
  t.unsafeGetTensorImpl()->set_sizes_and_strides(c10::IntArrayRef(sizes, ndim), c10::IntArrayRef(strides, ndim), offset);
  return t;
}

inline int32_t tensor_from_memory(int32_t dtype, void* mem, uint64_t nbytes, const int64_t* sizes, const int64_t* strides, uint64_t ndim, int64_t offset, uint64_t id, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    Graveyard::get();
    c10::Storage storage(c10::Storage::use_byte_size_t(), nbytes,
                         c10::DataPtr(mem, reinterpret_cast<void*>(id), &Graveyard::bury, c10::Device(c10::kCPU)),
                         /*allocator=*/nullptr, /*resizable=*/false);
    out.tensor(over(std::move(storage), c10::Device(c10::kCPU), dtype, sizes, strides, ndim, offset));
  });
}

inline int32_t tensor_view(uint64_t base, int32_t dtype, const int64_t* sizes, const int64_t* strides, uint64_t ndim, int64_t offset, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const Peek t(base);
    out.tensor(over(t->storage(), t->device(), dtype, sizes, strides, ndim, offset));
  });
}

inline int32_t tensor_bytes(const tfx_mode* m, uint64_t handle, void* dst, uint64_t cap, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    Scope scope(m);
    at::Tensor t = unwrapped(tensor(handle));
    Recording::check_read(t);
    Unseen unseen;
    if (t.is_meta()) throw std::runtime_error("a meta tensor has no data");
    if (t.is_quantized()) t = t.int_repr();
    if (t.layout() != c10::kStrided) t = t.to_dense();
    t = t.resolve_conj().resolve_neg();
    if (!t.is_cpu()) t = t.to(c10::Device(c10::kCPU));
    t = t.contiguous();
    const uint64_t bytes = t.numel() * t.element_size();
    TORCH_CHECK_VALUE(bytes <= cap, "expected room for ", bytes, " bytes, got ", cap);
    if (bytes > 0) std::memcpy(dst, t.const_data_ptr(), bytes);
    out.word(bytes);
  });
}

inline int32_t tensor_data(uint64_t handle, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const Peek t(handle);
    Recording::check_read(*t);
    if (at::functionalization::impl::isFunctionalTensor(*t)) throw std::runtime_error("a tensor of a functional recording has no memory of its own");
    out.word(t->numel() == 0 ? 0 : reinterpret_cast<uint64_t>(t->const_data_ptr()));
  });
}

inline int32_t wrapped_number(const uint64_t* arg, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    Scope scope(nullptr);
    Unseen unseen;
    Reader in(arg, nargs);
    out.tensor(wrapped(in.value(*c10::NumberType::get()).toScalar()));
  });
}

inline int32_t is_alias(uint64_t a, uint64_t b) noexcept {
  const Peek x(a), y(b);
  return x->defined() && y->defined() && x->has_storage() && y->has_storage() &&
      x->unsafeGetTensorImpl()->unsafe_storage().is_alias_of(y->unsafeGetTensorImpl()->unsafe_storage());
}

inline int32_t add_batch_dim(const tfx_mode* m, uint64_t handle, int64_t dim, int64_t level, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    Scope scope(m);
    const Peek t(handle);
    out.tensor(at::functorch::addBatchDim(*t, c10::maybe_wrap_dim(dim, t->dim()), level));
  });
}

// remove_batch_dim is torch._C._functorch._remove_batch_dim, whose C++ lives in
// libtorch_python. A tensor that the level did not touch is expanded.
inline int32_t remove_batch_dim(const tfx_mode* m, uint64_t handle, int64_t level, int64_t batch, int64_t out_dim, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    Scope scope(m);
    at::Tensor t = tensor(handle);
    int64_t from = 0;
    const auto* batched = at::functorch::maybeGetBatchedImpl(t);
    if (batched == nullptr || batched->level() < level) {
      std::vector<int64_t> sizes = t.sizes().vec();
      sizes.insert(sizes.begin(), batch);
      t = t.expand(sizes);
    } else {
      TORCH_CHECK(batched->level() == level, "expected the innermost batch dimension to have level ", level, ", got ", batched->level());
      from = batched->bdim();
      t = at::Tensor(batched->value());
    }
    const int64_t to = c10::maybe_wrap_dim(out_dim, t.dim());
    std::vector<int64_t> order;
    for (int64_t i = 0; i < t.dim(); i++) {
      if (i != from) order.push_back(i);
    }
    order.insert(order.begin() + to, from);
    out.tensor(from == to ? std::move(t) : t.permute(order));
  });
}

}  // namespace tfx
