// The C++ side of the comparison in cost_test.go: the boxed call of an operator in a
// loop, in the process of the test.
#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <chrono>

namespace {

// operand is what an argument is called with: a number among tensors is made a tensor
// whose dtype gives way, as every caller of C++ makes it.
at::Tensor operand(const c10::IValue& v) {
  at::Tensor t = at::detail::scalar_tensor_static(v.toScalar(), v.isDouble() ? c10::kDouble : c10::kLong, c10::Device(c10::kCPU));
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}

// typed is a list of the elements that it holds.
c10::IValue typed(const c10::IValue& v) {
  if (!v.isList() || v.toListRef().empty()) return v;
  if (v.toListRef()[0].isInt()) {
    c10::List<int64_t> list;
    for (const c10::IValue& x : v.toListRef()) list.push_back(x.toInt());
    return list;
  }
  c10::List<at::Tensor> list;
  for (const c10::IValue& x : v.toListRef()) list.push_back(x.toTensor());
  return list;
}

// boxed calls an operator n times with the arguments and its defaults, drops what it
// returns, and returns the nanoseconds that all calls took.
void boxed(const c10::OperatorHandle&, torch::jit::Stack* in) {
  const int64_t n = in->at(3).toInt();
  const auto given = in->at(2).toList();
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(in->at(0).toStringRef().c_str(), in->at(1).toStringRef().c_str());
  in->clear();
  c10::NoGradGuard no_grad;
  const auto& schema = op.schema().arguments();
  std::vector<c10::IValue> args;
  for (size_t k = 0; k < schema.size(); k++) args.push_back(k < given.size() ? typed(given.get(k)) : *schema[k].default_value());
  std::vector<bool> number;
  for (size_t k = 0; k < args.size(); k++) number.push_back(args[k].isScalar() && schema[k].type()->kind() == c10::TypeKind::TensorType);
  torch::jit::Stack stack;
  stack.reserve(16);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < n; i++) {
    for (size_t k = 0; k < args.size(); k++) stack.push_back(number[k] ? c10::IValue(operand(args[k])) : args[k]);
    op.callBoxed(stack);
    stack.clear();
  }
  in->emplace_back(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

TORCH_LIBRARY(torchops_cost, m) {
  m.def("boxed(str name, str overload, Any args, int n) -> int", torch::CppFunction::makeFromBoxedFunction<&boxed>());
}
