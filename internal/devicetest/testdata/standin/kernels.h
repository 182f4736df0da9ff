// Kernels of the stand-in: those for memory, views and copies are its own, all others
// are the CPU's on the same memory.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "memory.h"

namespace {

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

}  // namespace
