// What an operator gives on tensors without elements.
//
// libtorch has kernels of the device meta for operators that are structured or made
// of others. For the rest Python has its own, in torch/_meta_registrations.py and
// torch/_decomp; here are ours: a rule says of each result its sizes, strides and
// dtype, as the kernel of the CPU gives them, and nothing is computed.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/ScalarType.h>

#include <string_view>
#include <vector>

namespace tfx::meta {

using Sizes = std::vector<int64_t>;
using Tensors = std::vector<at::Tensor>;

// A Call is an operator's arguments by their names in the schema. A name that the
// schema lacks is a fault of the rule.
class Call {
 public:
  Call(const c10::OperatorHandle& op, const torch::jit::Stack& stack)
      : schema(op.schema()), args_(stack.data() + (stack.size() - op.schema().arguments().size())) {}

  const c10::FunctionSchema& schema;

  const c10::IValue& operator()(const char* name) const {
    const auto& args = schema.arguments();
    for (size_t i = 0; i < args.size(); i++) {
      if (args[i].name() == std::string_view(name)) return args_[i];
    }
    TORCH_INTERNAL_ASSERT(false, schema.name(), " has no argument ", name);
  }
  const c10::IValue& operator()(int i) const { return args_[i]; }

  bool has(const char* name) const { return given((*this)(name)); }
  static bool given(const c10::IValue& v) { return !v.isNone() && !(v.isTensor() && !v.toTensor().defined()); }

  // t is a tensor, an undefined one for None.
  at::Tensor t(const char* name) const { return tensor((*this)(name)); }
  at::Tensor t(int i) const { return tensor(args_[i]); }
  int64_t n(const char* name) const { return (*this)(name).toInt(); }
  bool b(const char* name) const { return (*this)(name).toBool(); }
  std::string s(const char* name) const { return std::string((*this)(name).toStringRef()); }
  Tensors list(const char* name) const { return (*this)(name).toTensorVector(); }
  bool masked(const char* name, size_t i) const { return (*this)(name).toBoolList().get(i); }

  // ints is a list of integers, an empty one for None.
  Sizes ints(const char* name) const {
    const c10::IValue& v = (*this)(name);
    if (v.isNone()) return {};
    return v.isInt() ? Sizes{v.toInt()} : v.toIntVector();
  }

  at::ScalarType dtype(const char* name, at::ScalarType otherwise) const {
    const c10::IValue& v = (*this)(name);
    return v.isNone() ? otherwise : v.toScalarType();
  }

 private:
  static at::Tensor tensor(const c10::IValue& v) { return v.isNone() ? at::Tensor() : v.toTensor(); }
  const c10::IValue* args_;
};

// A Rule gives the results of a call. For an operator with out= arguments these are
// what the arguments become; for one that writes, the arguments themselves.
using Rule = Tensors (*)(const Call& c);

struct Entry {
  const char* op;  // "relu" is aten's
  Rule rule;
};

// The tensors that rules make.

inline at::Tensor fresh(at::IntArrayRef sizes, const at::Tensor& of, std::optional<at::ScalarType> dtype = {}, at::MemoryFormat format = at::MemoryFormat::Contiguous) {
  return at::empty(sizes, of.options().dtype(dtype.value_or(of.scalar_type())), format);
}
inline at::Tensor strided(at::IntArrayRef sizes, at::IntArrayRef strides, const at::Tensor& of, std::optional<at::ScalarType> dtype = {}) {
  return at::empty_strided(sizes, strides, of.options().dtype(dtype.value_or(of.scalar_type())));
}
inline at::Tensor like(const at::Tensor& of, std::optional<at::ScalarType> dtype = {}, std::optional<at::MemoryFormat> format = {}) {
  return at::empty_like(of, of.options().dtype(dtype.value_or(of.scalar_type())), format);
}
inline at::Tensor contiguous(const at::Tensor& of, std::optional<at::ScalarType> dtype = {}) { return fresh(of.sizes(), of, dtype); }

// onCPU is a tensor of the CPU that looks like t and has no memory. What libtorch
// decides by device, sizes, strides and dtype alone it decides for this one as for
// a tensor of the CPU.
inline at::Tensor onCPU(const at::Tensor& t) {
  if (!t.defined()) return t;
  c10::Storage none(c10::Storage::use_byte_size_t(), t.storage().nbytes(), c10::DataPtr(nullptr, c10::Device(c10::kCPU)), nullptr, false);
  at::Tensor s = at::detail::make_tensor<c10::TensorImpl>(std::move(none), c10::DispatchKeySet(c10::DispatchKey::CPU), t.dtype());
  s.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  return s;
}

inline int64_t wrap(int64_t dim, int64_t ndim) { return c10::maybe_wrap_dim(dim, ndim); }

inline int64_t product(at::IntArrayRef sizes) { return c10::multiply_integers(sizes); }

// pair is a list of k numbers, where one stands for all of them.
inline Sizes filled(Sizes v, size_t k) {
  if (v.size() == 1) v.resize(k, v[0]);
  return v;
}

[[noreturn]] inline void refuse(const c10::FunctionSchema& schema, const char* what) {
  std::string name = schema.name();
  if (!schema.overload_name().empty()) name += "." + schema.overload_name();
  C10_THROW_ERROR(NotImplementedError, name + ": expected tensors with elements, got some on the device meta: " + what + " elements");
}

// A Kernel runs a rule, or refuses.
class Kernel final : public c10::OperatorKernel {
 public:
  explicit Kernel(Rule rule) : rule_(rule) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const auto& schema = op.schema();
    Tensors results = rule_(Call(op, *stack));
    std::vector<at::Tensor> outs;
    if (schema.is_mutable() && !schema.arguments().empty() && schema.arguments().back().is_out()) {
      for (size_t i = 0; i < schema.arguments().size(); i++) {
        if (schema.arguments()[i].is_out()) outs.push_back((*stack)[stack->size() - schema.arguments().size() + i].toTensor());
      }
      TORCH_INTERNAL_ASSERT(outs.size() == results.size(), schema.name());
      for (size_t i = 0; i < outs.size(); i++) become(outs[i], results[i]);
      results = outs;
    }
    stack->resize(stack->size() - schema.arguments().size());
    const auto& returns = schema.returns();
    if (returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::ListType) {
      stack->emplace_back(c10::List<at::Tensor>(results));
      return;
    }
    TORCH_INTERNAL_ASSERT(returns.size() <= results.size(), schema.name());
    for (size_t i = 0; i < returns.size(); i++) stack->emplace_back(std::move(results[i]));
  }

  // become gives an out= argument the sizes of a result; where it had them it stays.
  static void become(const at::Tensor& out, const at::Tensor& result) {
    if (!result.defined()) return;
    TORCH_CHECK(at::canCast(result.scalar_type(), out.scalar_type()), "result type ", result.scalar_type(), " can't be cast to the desired output type ", out.scalar_type());
    if (out.sizes().equals(result.sizes())) return;
    out.resize_(result.sizes());
    if (!out.strides().equals(result.strides())) out.as_strided_(result.sizes(), result.strides());
  }

 private:
  const Rule rule_;
};

}  // namespace tfx::meta
