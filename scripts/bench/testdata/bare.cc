// The bare C++ side of the benchmark: a loop of boxed calls of out variants, with
// nothing around them that a call does not need. It is compiled against the same
// libtorch, opened in the process of the benchmark and called as an operator.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <ctime>

namespace {

int64_t cpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

// chain times rounds of a chain of n pointwise operators on x and y, alternately
// to two tensors, and returns the nanoseconds of CPU time of all rounds. The stack is kept.
int64_t chain(const at::Tensor& x, const at::Tensor& y, int64_t n, int64_t rounds, bool below_autograd) {
  c10::NoGradGuard no_grad;
  std::optional<at::AutoDispatchBelowAutograd> below;
  if (below_autograd) below.emplace();
  const auto find = [](const char* name, const char* overload) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload); };
  const c10::OperatorHandle ops[] = {find("aten::add", "out"), find("aten::mul", "out"), find("aten::sub", "out"), find("aten::maximum", "out")};
  const at::Tensor out[] = {at::empty_like(x), at::empty_like(x)};
  torch::jit::Stack stack;
  stack.reserve(8);
  const int64_t start = cpu();
  for (int64_t r = 0; r < rounds; r++) {
    const at::Tensor* in = &x;
    for (int64_t i = 0; i < n; i++) {
      const int64_t k = i % 4;
      stack.emplace_back(*in);
      stack.emplace_back(y);
      if (k == 0 || k == 2) stack.emplace_back(int64_t{1});
      stack.emplace_back(out[i % 2]);
      ops[k].callBoxed(stack);
      stack.clear();
      in = &out[i % 2];
    }
  }
  return cpu() - start;
}

}  // namespace

TORCH_LIBRARY(torchfx_bench, m) { m.def("chain(Tensor x, Tensor y, int n, int rounds, bool below_autograd) -> int", chain); }
