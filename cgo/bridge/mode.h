// libtorch's per-thread state, set for one call and restored after it.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/functorch/DynamicLayer.h>
#include <c10/core/AutogradState.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include "tfx.h"
#include "warn.h"

// ATen/autocast_mode.h would bring all of ATen's headers, twice the compile time.
// These are its declarations; a libtorch without them fails to link.
namespace at::autocast {
TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
TORCH_API void set_autocast_enabled(at::DeviceType device_type, bool enabled);
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API void set_autocast_dtype(at::DeviceType device_type, at::ScalarType dtype);
TORCH_API void clear_cache();
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
TORCH_API bool is_autocast_cache_enabled();
TORCH_API void set_autocast_cache_enabled(bool enabled);
}  // namespace at::autocast

namespace tfx {

// Threads is how many threads a kernel may use when called from this one, for one
// call. Asking first matters: a thread's first question makes libtorch take over
// the number that some other thread set last, and would do so later. Opening the
// bridge sets the process's number to one, so that a usual call changes nothing.
class Threads {
 public:
  explicit Threads(int n) : before_(at::get_num_threads()) {
    if (before_ != n) at::set_num_threads(n);
  }
  ~Threads() {  // asks again, since an operator may have set it
    if (at::get_num_threads() != before_) at::set_num_threads(before_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// Grad is whether gradients are recorded, for one call: c10::AutoGradMode, which
// looks the thread's state up three times, with one look.
class Grad {
 public:
  explicit Grad(bool on) : state_(c10::AutogradState::get_tls_state()), before_(state_.get_grad_mode()) { state_.set_grad_mode(on); }
  ~Grad() { state_.set_grad_mode(before_); }
  Grad(const Grad&) = delete;
  Grad& operator=(const Grad&) = delete;

 private:
  c10::AutogradState& state_;
  bool before_;
};

// An Autocast is one autocast region around one call. Python clears the cache of
// casts when the outermost region ends; here that is at the end of the call.
class Autocast {
 public:
  explicit Autocast(const tfx_mode& m)
      : device_(static_cast<c10::DeviceType>(m.autocast_device)),
        enabled_(at::autocast::is_autocast_enabled(device_)),
        cache_(at::autocast::is_autocast_cache_enabled()),
        dtype_(at::autocast::get_autocast_dtype(device_)) {
    at::autocast::increment_nesting();
    at::autocast::set_autocast_enabled(device_, (m.flags & TFX_AUTOCAST_ENABLED) != 0);
    at::autocast::set_autocast_dtype(device_, static_cast<c10::ScalarType>(m.autocast_dtype));
    at::autocast::set_autocast_cache_enabled((m.flags & TFX_AUTOCAST_NO_CACHE) == 0);
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
    at::autocast::set_autocast_cache_enabled(cache_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool enabled_, cache_;
  c10::ScalarType dtype_;
};

// Vmap pushes the levels of torch.vmap, the outermost first, and pops them. A
// batched tensor that outlives a level is legal as long as the same level is
// pushed again around its next use.
class Vmap {
 public:
  explicit Vmap(const tfx_mode& m) {
    for (; pushed_ < m.vmap_levels; pushed_++) {
      at::functorch::initAndPushDynamicLayer(at::functorch::TransformType::Vmap, c10::SymInt(m.vmap_size[pushed_]),
                                             static_cast<at::functorch::RandomnessType>(m.vmap_randomness[pushed_]));
    }
  }
  ~Vmap() {
    for (; pushed_ > 0; pushed_--) at::functorch::popDynamicLayerAndDeleteMetadata();
  }
  Vmap(const Vmap&) = delete;
  Vmap& operator=(const Vmap&) = delete;

 private:
  int pushed_ = 0;
};

// Usual is what every call sets: whether gradients are recorded, and how many
// threads a kernel may use.
class Usual {
 public:
  Usual(bool grad, int threads) : grad_(grad), threads_(threads) { watch_warnings(); }

 private:
  Grad grad_;
  Threads threads_;
};

// stream_of is the stream of a mode that has one.
inline c10::Stream stream_of(const tfx_mode& m) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(static_cast<c10::DeviceType>(m.device), static_cast<c10::DeviceIndex>(m.device_index)), m.stream);
}

// A Scope holds one call's mode. Without a mode: no gradients, ordinary tensors,
// one thread. Inference mode comes first, since it sets the gradient mode too.
class Scope {
 public:
  explicit Scope(const tfx_mode* m) : usual_(m != nullptr && (m->flags & TFX_GRAD) != 0, m == nullptr ? 1 : m->threads) {
    if (m == nullptr) return;
    if (m->flags & TFX_STREAM) stream_.emplace(stream_of(*m));
    if (m->flags & TFX_INFERENCE) inference_.emplace(true);
    if (m->flags & TFX_AUTOCAST) autocast_.emplace(*m);
    if (m->vmap_levels > 0) vmap_.emplace(*m);
  }

 private:
  Usual usual_;
  std::optional<c10::StreamGuard> stream_;
  std::optional<c10::InferenceMode> inference_;
  std::optional<Autocast> autocast_;
  std::optional<Vmap> vmap_;
};

}  // namespace tfx
