// Regions: parts of a graph that a delegate computes instead of libtorch's
// operators. ../delegate/tfx_delegate.h says what a delegate is.
#pragma once

#include <ATen/EmptyTensor.h>

#include <atomic>
#include <memory>
#include <vector>

#include "../delegate/tfx_delegate.h"
#include "error.h"
#include "mode.h"
#include "pages.h"
#include "planwatch.h"
#include "value.h"

namespace tfx {

// A Region is one that a delegate has compiled, held as an object.
struct Region : torch::CustomClassHolder {
  Region(const tfx_delegate_api* a, tfx_delegate_region* r) : api(a), region(r) { api->retain(region); }
  ~Region() override { api->release(region); }
  const tfx_delegate_api* const api;
  tfx_delegate_region* const region;
};

// region_of is the region that a value is, null for none.
inline const Region* region_of(const c10::IValue& v) { return v.isCapsule() ? dynamic_cast<const Region*>(v.toCapsule().get()) : nullptr; }

// A RegionRun runs one region, by one thread at a time. It keeps the shape class
// that it used last, so that a further run of the class finds it at once.
class RegionRun {
 public:
  RegionRun() = default;
  ~RegionRun() {
    if (shape_ != nullptr) region_->api->release_class(shape_);
  }
  RegionRun(const RegionRun&) = delete;
  RegionRun& operator=(const RegionRun&) = delete;

  void clear() { inputs_.clear(); }

  // take adds an input, borrowed until run or clear. It reports false for one that
  // is no ordinary tensor with elements: the operators are to be asked.
  bool take(const c10::IValue& v) {
    if (!v.isTensor() || !v.toTensor().defined() || !ordinary(v.toTensor()) || v.toTensor().numel() == 0) return false;
    const at::Tensor& t = v.toTensor();
    inputs_.push_back({t.const_data_ptr(), t.sizes().data(), t.strides().data(), static_cast<int32_t>(t.dim()), static_cast<int32_t>(t.scalar_type())});
    return true;
  }

  // prepare finds the shape class of the inputs. It reports false where the
  // delegate has none for them: the operators are to be asked, too.
  bool prepare(c10::intrusive_ptr<const Region> region) {
    if (region_ != region) {
      TORCH_INTERNAL_ASSERT(region_ == nullptr);
      region_ = std::move(region);
    }
    const int32_t code = region_->api->prepare(region_->region, inputs_.data(), inputs_.size(), at::get_num_threads(), &shape_, &error_);
    if (code == TFX_DELEGATE_NOT_IMPLEMENTED) return false;
    check(code);
    return true;
  }

  uint64_t outputs() const { return shape_->noutputs; }

  // output makes memory for an output.
  at::Tensor output(uint64_t i) const {
    const tfx_delegate_shape& s = shape_->outputs[i];
    return at::detail::empty_strided_cpu({s.sizes, static_cast<size_t>(s.dim)}, {s.strides, static_cast<size_t>(s.dim)}, static_cast<c10::ScalarType>(s.dtype));
  }

  // fits reports whether t is laid out as an output.
  bool fits(uint64_t i, const at::Tensor& t) const {
    const tfx_delegate_shape& s = shape_->outputs[i];
    return t.dim() == s.dim && static_cast<int32_t>(t.scalar_type()) == s.dtype && std::equal(t.sizes().begin(), t.sizes().end(), s.sizes) &&
        std::equal(t.strides().begin(), t.strides().end(), s.strides);
  }

  // run computes the outputs, which take each in turn, and reports false where stop
  // was set meanwhile. What a run needs beside inputs and outputs is in scratch.
  template <class F>
  bool run(F&& output, Room& scratch, const std::atomic<int32_t>* stop) {
    from_.clear();
    to_.clear();
    for (const tfx_delegate_buffer& b : inputs_) from_.push_back(b.data);
    for (uint64_t i = 0; i < shape_->noutputs; i++) to_.push_back(output(i).mutable_data_ptr());
    static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t) && std::atomic<int32_t>::is_always_lock_free);
    const tfx_delegate_run what{from_.data(), to_.data(), scratch.of(shape_->scratch), reinterpret_cast<const int32_t*>(stop), nullptr};
    const int32_t code = region_->api->run(shape_, &what, &error_);
    inputs_.clear();
    if (code == TFX_DELEGATE_CANCELLED) return false;
    check(code);
    return true;
  }

 private:
  // check throws what a delegate reports.
  void check(int32_t code) const {
    switch (code) {
      case TFX_DELEGATE_OK: return;
      case TFX_DELEGATE_TYPE: TORCH_CHECK_TYPE(false, text_);
      case TFX_DELEGATE_VALUE: TORCH_CHECK_VALUE(false, text_);
      case TFX_DELEGATE_NOT_IMPLEMENTED: TORCH_CHECK_NOT_IMPLEMENTED(false, text_);
      case TFX_DELEGATE_MEMORY: throw std::bad_alloc();
      default: TORCH_CHECK(false, text_);
    }
  }

  c10::intrusive_ptr<const Region> region_;
  tfx_delegate_class* shape_ = nullptr;
  std::vector<tfx_delegate_buffer> inputs_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  char text_[512] = {};
  tfx_delegate_error error_{text_, sizeof text_};
};

// region_new makes an object, with a reference of its own, of a region that the
// delegate has compiled whose function table lies at api.
inline int32_t region_new(uint64_t api, uint64_t region, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    out.value(c10::IValue::make_capsule(c10::make_intrusive<Region>(reinterpret_cast<const tfx_delegate_api*>(api), reinterpret_cast<tfx_delegate_region*>(region))));
  });
}

// region_run runs a region on tensors, and writes TENSORS. The inputs are borrowed.
// NOT_IMPLEMENTED says that the operators are to be asked instead.
inline int32_t region_run(uint64_t object, const tfx_mode* mode, const uint64_t* inputs, uint64_t ninputs, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    auto region = c10::static_intrusive_pointer_cast<Region>(reinterpret_cast<const c10::IValue*>(object)->toCapsule());
    Scope scope(mode);
    std::vector<c10::IValue> held;
    RegionRun run;
    bool ok = true;
    for (uint64_t i = 0; i < ninputs; i++) ok = run.take(held.emplace_back(tensor(inputs[i]))) && ok;
    TORCH_CHECK_NOT_IMPLEMENTED(ok && run.prepare(std::move(region)), "the delegate has no kernels for inputs of these dtypes and shapes");
    std::vector<at::Tensor> results;
    for (uint64_t i = 0; i < run.outputs(); i++) results.push_back(run.output(i));
    Room scratch;
    run.run([&](uint64_t i) -> const at::Tensor& { return results[i]; }, scratch, nullptr);
    out.value(std::move(results));
  });
}

}  // namespace tfx
