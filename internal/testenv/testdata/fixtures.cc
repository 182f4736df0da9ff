// The operators that the recorded programs custom_op, custom_op_mutating,
// auto_functionalized and effect_token call, with the schemas that
// torch.library.custom_op gave them when the programs were recorded.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace {

at::Tensor scale_shift(const at::Tensor& x, double scale, int64_t shift, at::OptionalIntArrayRef) { return x * scale + shift; }

void bump_(at::Tensor x, double by) { x.add_(by); }

std::vector<at::Tensor> halves(const at::Tensor& x) {
  const int64_t n = x.size(0) / 2;
  return {x.narrow(0, 0, n).clone(), x.narrow(0, n, x.size(0) - n).clone()};
}

at::Tensor logged(const at::Tensor& x) { return x.clone(); }

}  // namespace

TORCH_LIBRARY(fixtures, m) {
  m.def("scale_shift(Tensor x, float scale, SymInt shift=1, SymInt[]? names=None) -> Tensor");
  m.def("bump_(Tensor(a0!) x, float by) -> ()");
  m.def("halves(Tensor x) -> Tensor[]");
  m.def("logged(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(fixtures, CompositeExplicitAutograd, m) {
  m.impl("scale_shift", scale_shift);
  m.impl("bump_", bump_);
  m.impl("halves", halves);
  m.impl("logged", logged);
}
