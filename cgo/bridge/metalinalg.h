// Rules of linear algebra, Fourier transforms and quantized operators.
#pragma once

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/native/LinearAlgebraUtils.h>
#include <ATen/ops/_fft_c2c.h>

#include "metacall.h"
#include "metapointwise.h"

namespace tfx::meta {

// columns is a batch of matrices whose columns are contiguous, as LAPACK has them.
inline at::Tensor columns(at::IntArrayRef sizes, const at::Tensor& of, std::optional<at::ScalarType> dtype = {}) {
  const auto strides = at::native::batched_matrix_contiguous_strides(sizes, /*f_contig=*/true);
  return strided(sizes, strides, of, dtype);
}

inline Sizes without_last(const at::Tensor& t) { return t.sizes().slice(0, t.dim() - 1).vec(); }

inline at::Tensor dotted(const Call& c) {
  const at::Tensor self = c.t(0), other = c.t(1);
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(), "D and ", other.dim(), "D tensors");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "dot : expected both vectors to have same dtype, but found ", self.scalar_type(), " and ", other.scalar_type());
  TORCH_CHECK(self.numel() == other.numel(), "inconsistent tensor size, expected tensor [", self.numel(), "] and src [", other.numel(), "] to have the same number of elements, but got ", self.numel(), " and ", other.numel(), " elements respectively");
  return fresh({}, self);
}

// matrix is the result of a product of matrices, of a dtype that the operator names.
inline Tensors matrix(const Call& c, const char* a, const char* b, at::ScalarType dtype) {
  const at::Tensor x = c.t(a), y = c.t(b);
  Sizes sizes = without_last(x);
  sizes.push_back(y.size(-1));
  TORCH_CHECK(x.size(-1) == y.size(-2), "mat1 and mat2 shapes cannot be multiplied (", x.size(0), "x", x.size(1), " and ", y.size(0), "x", y.size(1), ")");
  return {fresh(sizes, x, dtype)};
}

inline Tensors summed_batches(const Call& c) {
  const at::Tensor self = c.t("self"), batch1 = c.t("batch1"), batch2 = c.t("batch2");
  TORCH_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  TORCH_CHECK(batch1.size(0) == batch2.size(0), "batch1 and batch2 must have same number of batches, got ", batch1.size(0), " and ", batch2.size(0));
  TORCH_CHECK(batch1.size(2) == batch2.size(1), "Incompatible matrix sizes for bmm (", batch1.size(1), "x", batch1.size(2), " and ", batch2.size(1), "x", batch2.size(2), ")");
  const Sizes sizes{batch1.size(1), batch2.size(2)};
  TORCH_CHECK(at::is_expandable_to(self.sizes(), sizes), "addbmm: expected self to be expandable to ", at::IntArrayRef(sizes), ", got ", self.sizes());
  return {fresh(sizes, self)};
}

inline Tensors eigen(const Call& c) {
  const at::Tensor self = c.t(0);
  at::native::squareCheckInputs(self, "linalg.eig");
  const auto dtype = c10::toComplexType(self.scalar_type());
  return {fresh(without_last(self), self, dtype), columns(self.sizes(), self, dtype)};
}

inline Tensors eigenvalues(const Call& c) { return {eigen(c)[0]}; }

inline Tensors triangular(const Call& c) {
  const at::Tensor A = c.t("self"), B = c.t("B");
  at::native::checkInputsSolver(A, B, c.b("left"), "linalg.solve_triangular");
  const auto [b, a] = at::native::_linalg_broadcast_batch_dims(B, A);
  if (a == A.sizes().vec() && A.is_conj() && A.transpose(-2, -1).is_contiguous()) return {fresh(b, B)};  // solved the other way round
  return {columns(b, B)};
}

inline Tensors least_squares(const Call& c) {
  const at::Tensor A = c.t("self"), B = c.t("b");
  const bool vector = at::native::linalg_solve_is_vector_rhs(A, B);
  const int64_t m = A.size(-2), n = A.size(-1), rhs = vector ? 1 : B.size(-1);
  const Sizes batch = at::infer_size(A.sizes().slice(0, A.dim() - 2), vector ? B.sizes().slice(0, B.dim() - 1) : B.sizes().slice(0, B.dim() - 2));
  const auto with = [&](std::initializer_list<int64_t> more) { Sizes s = batch; s.insert(s.end(), more); return s; };
  const std::string driver = c("driver").isNone() ? "gelsy" : c.s("driver");
  const bool ranks = driver != "gels";
  const bool residuals = m > n && driver != "gelsy";
  const bool values = driver == "gelsd" || driver == "gelss";
  // the solution lies where the right hand side was, which has room for either
  at::Tensor x = columns(with({std::max(m, n), rhs}), A);
  x = strided(vector ? with({n}) : with({n, rhs}), vector ? x.strides().slice(0, x.dim() - 1) : x.strides(), A);
  return {x, residuals ? fresh(with({rhs}), A, realDType(A)) : fresh({0}, A, realDType(A)),
          ranks ? fresh(batch, A, at::kLong) : fresh({0}, A, at::kLong), values ? fresh(with({std::min(m, n)}), A, realDType(A)) : fresh({0}, A, realDType(A))};
}

inline Tensors reflected(const Call& c) {
  const at::Tensor input = c.t("self"), tau = c.t("input2"), other = c.t("input3");
  TORCH_CHECK(input.dim() >= 2, "torch.ormqr: input must have at least 2 dimensions.");
  TORCH_CHECK(other.dim() >= 2, "torch.ormqr: other must have at least 2 dimensions.");
  const int64_t side = c.b("left") ? -2 : -1;
  TORCH_CHECK(other.size(side) >= tau.size(-1), "torch.ormqr: other.shape[", side, "] must be greater than or equal to tau.shape[-1]");
  TORCH_CHECK(other.size(side) == input.size(-2), "torch.ormqr: other.shape[", side, "] must be equal to input.shape[-2]");
  TORCH_CHECK(tau.size(-1) == std::min(other.size(side), input.size(-1)), "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[", side, "], input.shape[-1])");
  return {columns(other.sizes(), other)};
}

// Fourier transforms, whose strides are those that MKL's descriptors are made with:
// dimensions that are not transformed come first, in the order in which they lie.

inline at::Tensor transformed(const at::Tensor& self, const Sizes& sizes, const Sizes& dims, at::ScalarType dtype) {
  if (!at::hasMKL()) return fresh(sizes, self, dtype);
  const int64_t ndim = self.dim();
  Sizes order;
  for (int64_t d = 0; d < ndim; d++) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  const auto strides = self.strides();
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
  order.insert(order.end(), dims.begin(), dims.end());
  Sizes out(ndim);
  int64_t n = 1;
  for (int64_t i = ndim - 1; i >= 0; i--) {
    out[order[i]] = n;
    n *= sizes[order[i]];
  }
  return strided(sizes, out, self, dtype);
}

inline Sizes outermost_first(const at::Tensor& self, Sizes dims, bool all_but_last) {
  const auto strides = self.strides();
  std::sort(dims.begin(), dims.end() - (all_but_last ? 1 : 0), [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
  return dims;
}

inline Tensors complex_to_complex(const Call& c) {
  const at::Tensor self = c.t("self");
  const Sizes dims = c.ints("dim");
  if (dims.empty()) return {like(self)};
  return {transformed(self, self.sizes().vec(), outermost_first(self, dims, false), self.scalar_type())};
}

inline Tensors real_to_complex(const Call& c) {
  const at::Tensor self = c.t("self");
  const Sizes dims = c.ints("dim");
  Sizes sizes = self.sizes().vec();
  if (c.b("onesided")) sizes[dims.back()] = sizes[dims.back()] / 2 + 1;
  return {transformed(self, sizes, outermost_first(self, dims, true), c10::toComplexType(self.scalar_type()))};
}

inline Tensors complex_to_real(const Call& c) {
  at::Tensor self = c.t("self");
  Sizes dims = c.ints("dim");
  if (dims.size() > 1) {
    self = at::_fft_c2c(self, at::IntArrayRef(dims).slice(0, dims.size() - 1), c.n("normalization"), false);
    dims = {dims.back()};
  }
  Sizes sizes = self.sizes().vec();
  sizes[dims.back()] = c.n("last_dim_size");
  return {transformed(self, sizes, dims, realDType(self))};
}

// Quantized operators.

inline Tensors faked(const Call& c) { return {like(c.t("self")), like(c.t("self"), at::kBool)}; }
inline Tensors faked_learnable_backward(const Call& c) { return {like(c.t("self")), like(c.t("scale")), like(c.t("zero_point"))}; }

inline Tensors quantized_convolution(const Call& c) {
  const at::Tensor x = c.t(0), w = c.t(3);
  const int64_t k = x.dim() - 2;
  return {fresh(at::native::conv_output_size(x.sizes(), w.sizes(), filled(c.ints("padding"), k), filled(c.ints("stride"), k), filled(c.ints("dilation"), k)), x, c.dtype("output_dtype", x.scalar_type()), channels_last(k + 2))};
}

inline Tensors quantized_linear(const Call& c) {
  const at::Tensor x = c.t(0);
  Sizes sizes = x.sizes().vec();
  sizes.back() = c.t(3).size(1);  // packed transposed
  return {fresh(sizes, x, c.dtype("output_dtype", x.scalar_type()))};
}

inline const Entry kLinalg[] = {
    {"dot", [](const Call& c) -> Tensors { return {dotted(c)}; }},
    {"vdot", [](const Call& c) -> Tensors { return {dotted(c)}; }},
    {"addbmm", summed_batches},
    {"_int_mm", [](const Call& c) -> Tensors { return matrix(c, "self", "mat2", at::kInt); }},
    {"mm.dtype", [](const Call& c) -> Tensors { return matrix(c, "self", "mat2", c("out_dtype").toScalarType()); }},
    {"bmm.dtype", [](const Call& c) -> Tensors { return matrix(c, "self", "mat2", c("out_dtype").toScalarType()); }},
    {"addmm.dtype", [](const Call& c) -> Tensors { return matrix(c, "mat1", "mat2", c("out_dtype").toScalarType()); }},
    {"baddbmm.dtype", [](const Call& c) -> Tensors { return matrix(c, "batch1", "batch2", c("out_dtype").toScalarType()); }},
    {"_scaled_mm", [](const Call& c) -> Tensors { return matrix(c, "self", "mat2", c.dtype("out_dtype", c.t("self").scalar_type())); }},
    {"_weight_int8pack_mm", [](const Call& c) -> Tensors { return {fresh({c.t("self").size(0), c.t("mat2").size(0)}, c.t("self"))}; }},
    {"_weight_int4pack_mm_for_cpu", [](const Call& c) -> Tensors { return {fresh({c.t("self").size(0), c.t("mat2").size(0)}, c.t("self"))}; }},
    {"_weight_int4pack_mm", [](const Call& c) -> Tensors { return {fresh({c.t("self").size(0), c.t("mat2").size(0) * 8}, c.t("self"))}; }},
    {"_convert_weight_to_int4pack_for_cpu", [](const Call& c) -> Tensors { return {fresh({c.t("self").size(0), c.t("self").size(1) / 2}, c.t("self"), at::kByte)}; }},
    {"_dyn_quant_matmul_4bit",
     [](const Call& c) -> Tensors { Sizes s = c.t("inp").sizes().vec(); s.back() = c.n("out_features"); return {fresh(s, c.t("inp"))}; }},
    {"_compute_linear_combination",
     [](const Call& c) -> Tensors { Sizes s = c.t("input").sizes().vec(); s[0] = c.t("coefficients").size(0); return {fresh(s, c.t("input"))}; }},

    {"linalg_eig", eigen},
    {"linalg_eigvals.out", eigenvalues},
    {"_linalg_eigvals", eigenvalues},
    {"linalg_householder_product", [](const Call& c) -> Tensors { return {columns(c.t("input").sizes(), c.t("input"))}; }},
    {"linalg_matrix_exp", [](const Call& c) -> Tensors { at::native::squareCheckInputs(c.t("self"), "linalg.matrix_exp"); return {contiguous(c.t("self"))}; }},
    {"linalg_matrix_sqrth", [](const Call& c) -> Tensors { return {contiguous(c.t("self"))}; }},
    {"linalg_solve_triangular", triangular},
    {"linalg_lstsq.out", least_squares},
    {"cholesky_inverse", [](const Call& c) -> Tensors { at::native::squareCheckInputs(c.t("self"), "cholesky_inverse"); return {columns(c.t("self").sizes(), c.t("self"))}; }},
    {"_cholesky_solve_helper", [](const Call& c) -> Tensors { return {columns(c.t("self").sizes(), c.t("self"))}; }},
    {"geqrf",
     [](const Call& c) -> Tensors {
       const at::Tensor a = c.t("self");
       TORCH_CHECK(a.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
       Sizes tau = a.sizes().slice(0, a.dim() - 2).vec();
       tau.push_back(std::min(a.size(-2), a.size(-1)));
       return {columns(a.sizes(), a), fresh(tau, a)};
     }},
    {"ormqr", reflected},

    {"_fft_c2c", complex_to_complex},
    {"_fft_r2c", real_to_complex},
    {"_fft_c2r", complex_to_real},

    {"fake_quantize_per_tensor_affine_cachemask", faked},
    {"fake_quantize_per_channel_affine_cachemask", faked},
    {"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", faked},
    {"_fused_moving_avg_obs_fq_helper", faked},
    {"_fake_quantize_learnable_per_tensor_affine", like_first},
    {"_fake_quantize_learnable_per_channel_affine", like_first},
    {"_fake_quantize_learnable_per_tensor_affine_backward", faked_learnable_backward},
    {"_fake_quantize_learnable_per_channel_affine_backward", faked_learnable_backward},
    {"onednn::qconv_pointwise", quantized_convolution},
    {"onednn::qconv_pointwise.tensor", quantized_convolution},
    {"onednn::qconv1d_pointwise", quantized_convolution},
    {"onednn::qconv2d_pointwise", quantized_convolution},
    {"onednn::qconv3d_pointwise", quantized_convolution},
    {"onednn::qconv2d_pointwise.binary", [](const Call& c) -> Tensors { return {c.t(6)}; }},
    {"onednn::qconv2d_pointwise.binary_tensor", [](const Call& c) -> Tensors { return {c.t(6)}; }},
    {"onednn::qlinear_pointwise", quantized_linear},
    {"onednn::qlinear_pointwise.tensor", quantized_linear},
    {"onednn::qlinear_pointwise.binary", quantized_linear},
    {"onednn::qlinear_pointwise.binary_tensor", quantized_linear},
};

}  // namespace tfx::meta
