// The C++ side of the comparison in cost_test.go: the boxed call of an operator in a
// loop, in the process of the test.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <chrono>

namespace {

// boxed calls an operator n times with the tensors and its defaults, drops what it
// returns, and returns the nanoseconds that all calls took.
int64_t boxed(const std::string& name, const std::string& overload, const std::vector<at::Tensor>& tensors, int64_t n) {
  c10::NoGradGuard no_grad;
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
  const auto& args = op.schema().arguments();
  torch::jit::Stack stack;
  stack.reserve(8);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < n; i++) {
    for (const at::Tensor& t : tensors) stack.emplace_back(t);
    for (size_t k = tensors.size(); k < args.size(); k++) stack.push_back(*args[k].default_value());
    op.callBoxed(stack);
    stack.clear();
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TORCH_LIBRARY(torchops_cost, m) { m.def("boxed(str name, str overload, Tensor[] tensors, int n) -> int", boxed); }
