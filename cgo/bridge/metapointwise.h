// Rules of operators that go element by element, that reduce, and that index.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/native/BucketizationUtils.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/max.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/sum.h>

#include "metacall.h"

namespace tfx::meta {

// Dtypes are what an operator makes of those of its inputs.
enum class Dtypes { kAny, kSame, kPromoted, kFloat };

// iterate is the result of an operator that is an iteration over broadcast inputs.
inline at::Tensor iterate(const Tensors& in, Dtypes dtypes = Dtypes::kPromoted, std::optional<at::ScalarType> out = {}) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).allow_cpu_scalars(true).check_all_same_dtype(dtypes == Dtypes::kSame);
  if (dtypes == Dtypes::kPromoted || dtypes == Dtypes::kFloat) config.promote_inputs_to_common_dtype(true);
  if (dtypes == Dtypes::kFloat) config.promote_integer_inputs_to_float(true);
  if (out.has_value()) config.declare_static_dtype(*out);
  config.add_owned_output(at::Tensor());
  for (const auto& t : in) config.add_owned_const_input(t);
  return config.build().output(0);
}

inline at::Tensor number(const at::Scalar& s, const at::Tensor& beside) {
  at::Tensor t = at::empty({}, beside.options().dtype(s.type()));
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}

inline at::ScalarType realDType(const at::Tensor& t) { return c10::toRealValueType(t.scalar_type()); }
inline at::ScalarType floatDType(at::ScalarType t) { return c10::isIntegralType(t, true) ? c10::get_default_dtype_as_scalartype() : t; }

// reduced is t without dims, all of them where none are given.
inline at::Tensor reduced(const at::Tensor& t, at::OptionalIntArrayRef dims, bool keepdim, at::ScalarType dtype) {
  return at::sum(t, dims, keepdim, dtype);
}

inline Tensors spread(const Call& c, bool two, bool mean_too) {
  const at::Tensor self = c.t("self");
  TORCH_CHECK(c10::isFloatingType(self.scalar_type()) || c10::isComplexType(self.scalar_type()),
              mean_too ? "std_mean and var_mean" : "std and var", " only support floating point and complex dtypes");
  const Sizes dims = c.ints("dim");
  Tensors out{reduced(self, dims, c.b("keepdim"), realDType(self))};
  if (two) out.push_back(reduced(self, dims, c.b("keepdim"), self.scalar_type()));
  return out;
}

inline Tensors unary(const Call& c) { return {iterate({c.t(0)}, Dtypes::kSame)}; }
inline Tensors unary_real(const Call& c) { return {iterate({c.t(0)}, Dtypes::kAny, realDType(c.t(0)))}; }
inline Tensors unary_bool(const Call& c) { return {iterate({c.t(0)}, Dtypes::kAny, at::kBool)}; }
inline Tensors unary_float(const Call& c) { return {iterate({c.t(0)}, Dtypes::kFloat)}; }
inline Tensors binary(const Call& c) { return {iterate({c.t(0), c.t(1)})}; }
inline Tensors binary_bool(const Call& c) { return {iterate({c.t(0), c.t(1)}, Dtypes::kAny, at::kBool)}; }
inline Tensors binary_number(const Call& c) { return {iterate({c.t(0), number(c(1).toScalar(), c.t(0))})}; }
inline Tensors like_first(const Call& c) { return {like(c.t(0))}; }
inline Tensors like_second(const Call& c) { return {like(c.t(1))}; }
inline Tensors contiguous_first(const Call& c) { return {contiguous(c.t(0))}; }
inline Tensors contiguous_second(const Call& c) { return {contiguous(c.t(1))}; }
inline Tensors nothing(const Call&) { return {}; }

inline Tensors extremum(const Call& c) {
  const at::Tensor self = c.t("self");
  TORCH_CHECK(self.numel() > 0, c.schema.name().substr(6), "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
  return {fresh({}, self)};
}

inline Tensors full(const Call& c) { return {fresh({}, c.t("self"))}; }

// along is values and indices of a reduction of one dimension.
inline Tensors along(const Call& c) {
  const at::Tensor self = c.t("self");
  const int64_t dim = wrap(c.n("dim"), self.dim());
  const bool keepdim = c.b("keepdim");
  std::string name = c.schema.name().substr(6);
  at::native::zero_numel_check_dims(self, dim, (name + "()").c_str());
  if (name == "kthvalue") {
    const int64_t size = self.dim() > 0 ? self.size(dim) : 1;
    TORCH_CHECK(c.n("k") >= 1 && c.n("k") <= size, "kthvalue(): selected number k out of range for dimension ", dim);
  }
  Sizes sizes = self.sizes().vec();
  if (!sizes.empty()) {
    if (keepdim) sizes[dim] = 1;
    else sizes.erase(sizes.begin() + dim);
  }
  return {fresh(sizes, self), fresh(sizes, self, at::kLong)};
}

inline Tensors searched(const Call& c, const char* sequence, const char* values) {
  const at::ScalarType dtype = c.b("out_int32") ? at::kInt : at::kLong;
  const at::Tensor boundaries = c.t(sequence);
  const c10::IValue& v = c(values);
  if (!v.isTensor()) return {fresh({}, boundaries, dtype)};
  return {contiguous(v.toTensor(), dtype)};
}

inline at::Tensor taken(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector, but got dim: ", index.dim(), " with type: ", index.scalar_type(), " and size: ", index.sizes());
  TORCH_CHECK(index.scalar_type() == at::kInt || index.scalar_type() == at::kLong, "index_select(): Expected dtype int32 or int64 for index but got: ", index.scalar_type());
  Sizes sizes = self.sizes().vec();
  if (!sizes.empty()) sizes[wrap(dim, self.dim())] = index.numel();
  return fresh(sizes, self);
}

inline Sizes bins(const Call& c) {
  const Sizes bins = c.ints("bins");
  TORCH_CHECK(c.t("self").dim() >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions, but got ", c.t("self").dim());
  TORCH_CHECK(static_cast<int64_t>(bins.size()) == c.t("self").size(-1), "histogramdd: The size of bins must be equal to the innermost dimension of the input.");
  return bins;
}

// rolled is put together of two parts for each dimension that moves.
inline Tensors rolled(const Call& c) {
  at::Tensor self = c.t("self");
  const Sizes shifts = c.ints("shifts"), dims = c.ints("dims");
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  if (dims.empty() && shifts.size() == 1) return {contiguous(self)};
  TORCH_CHECK(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  for (size_t i = 0; i < dims.size(); i++) {
    if (self.numel() == 0) return {like(self, {}, at::MemoryFormat::Preserve)};
    const int64_t size = self.size(c10::maybe_wrap_dim(dims[i], self.dim(), /*wrap_scalar=*/false));
    self = shifts[i] % size == 0 ? like(self, {}, at::MemoryFormat::Preserve) : fresh(self.sizes(), self, {}, self.suggest_memory_format());
  }
  return {self};
}

inline Tensors triangle(const Call& c, bool lower) {
  const int64_t row = c.n("row"), col = c.n("col");
  TORCH_CHECK(row >= 0, "row must be non-negative, got", row);
  TORCH_CHECK(col >= 0, "col must be non-negative, got", col);
  // counted as libtorch's get_tril_size does; the upper one is the rest of the lower one before it
  const auto count = [&](int64_t offset) -> int64_t {
    if (row == 0 || col == 0) return 0;
    const int64_t first = offset > 0 ? std::min(col, 1 + offset) : (row + offset > 0 ? 1 : 0);
    const int64_t last = std::max<int64_t>(0, std::min(col, row + offset));
    const int64_t rows = std::max<int64_t>(0, std::min(row, row + offset));
    int64_t size = (first + last) * (last - first + 1) >> 1;
    if (rows > last - first + 1) size += (rows - (last - first + 1)) * col;
    return size;
  };
  const int64_t n = lower ? count(c.n("offset")) : row * col - count(c.n("offset") - 1);
  const auto options = at::TensorOptions().device(c("device").isNone() ? at::Device(at::kMeta) : c("device").toDevice());
  return {at::empty({2, n}, options.dtype(c.dtype("dtype", at::kLong)))};
}

inline const Entry kPointwise[] = {
    {"relu", unary},
    {"hardswish", unary},
    {"hardtanh", unary},
    {"_prelu_kernel", binary},
    {"isnan", unary_bool},
    {"logit", unary_float},
    {"abs.out", unary_real},
    {"angle.out", [](const Call& c) -> Tensors { return {iterate({c.t(0)}, Dtypes::kAny, floatDType(realDType(c.t(0))))}; }},
    {"angle", [](const Call& c) -> Tensors { return {iterate({c.t(0)}, Dtypes::kAny, floatDType(realDType(c.t(0))))}; }},
    {"conj_physical.out", unary},
    {"conj_physical_", like_first},
    {"nan_to_num.out", unary},
    {"mvlgamma.out", unary_float},
    {"logical_not.out", unary_bool},
    {"logical_and.out", binary_bool},
    {"logical_or.out", binary_bool},
    {"logical_xor.out", binary_bool},
    {"frexp.Tensor_out", [](const Call& c) -> Tensors { return {like(c.t(0)), like(c.t(0), at::kInt)}; }},
    {"polar.out", [](const Call& c) -> Tensors { return {iterate({c.t(0), c.t(1)}, Dtypes::kAny, c10::toComplexType(c.t(0).scalar_type()))}; }},
    {"complex.out", [](const Call& c) -> Tensors { return {iterate({c.t(0), c.t(1)}, Dtypes::kAny, c10::toComplexType(c.t(0).scalar_type()))}; }},
    {"floor_divide", binary},
    {"rsub.Tensor", binary},
    {"__lshift__.Tensor", binary},
    {"__rshift__.Tensor", binary},
    {"__lshift__.Scalar", binary_number},
    {"__rshift__.Scalar", binary_number},
    {"_add_relu.Tensor", binary},
    {"_add_relu.Scalar", binary_number},
    {"remainder.Scalar_Tensor", [](const Call& c) -> Tensors { return {iterate({number(c(0).toScalar(), c.t(1)), c.t(1)})}; }},
    {"where.self",
     [](const Call& c) -> Tensors {
       const at::Tensor condition = c.t("condition"), self = c.t("self"), other = c.t("other");
       TORCH_CHECK(condition.scalar_type() == at::kByte || condition.scalar_type() == at::kBool, "where expected condition to be a boolean tensor, but got a tensor with dtype ", condition.scalar_type());
       return {iterate({condition, self, other}, Dtypes::kAny, at::result_type(self, other))};
     }},
    {"log_sigmoid_forward", [](const Call& c) -> Tensors { return {like(c.t(0)), contiguous(c.t(0))}; }},
    {"log_sigmoid_backward", [](const Call& c) -> Tensors { return {iterate({c.t("self"), c.t("grad_output")})}; }},
    {"hardtanh_backward", binary},
    {"hardswish_backward", binary},
    {"_prelu_kernel_backward",
     [](const Call& c) -> Tensors { const at::Tensor t = iterate({c.t("self"), c.t("weight"), c.t("grad_output")}); return {t, like(t)}; }},
    {"glu_backward", [](const Call& c) -> Tensors { return {contiguous(c.t("self"))}; }},
    {"glu_jvp", like_first},
    {"glu_backward_jvp", like_first},
    {"nonzero_static", [](const Call& c) -> Tensors { return {fresh({c.n("size"), c.t("self").dim()}, c.t("self"), at::kLong)}; }},

    // reductions
    {"var.correction", [](const Call& c) -> Tensors { return spread(c, false, false); }},
    {"std.correction", [](const Call& c) -> Tensors { return spread(c, false, false); }},
    {"var_mean.correction", [](const Call& c) -> Tensors { return spread(c, true, true); }},
    {"std_mean.correction", [](const Call& c) -> Tensors { return spread(c, true, true); }},
    {"nansum",
     [](const Call& c) -> Tensors {
       const at::Tensor self = c.t("self");
       TORCH_CHECK(!c10::isComplexType(self.scalar_type()), "nansum does not support complex inputs");
       const at::ScalarType dtype = c10::isIntegralType(self.scalar_type(), true) ? at::kLong : self.scalar_type();
       return {reduced(self, c.ints("dim"), c.b("keepdim"), c.dtype("dtype", dtype))};
     }},
    {"prod",
     [](const Call& c) -> Tensors {
       const at::ScalarType self = c.t("self").scalar_type();
       return {fresh({}, c.t("self"), c.dtype("dtype", c10::isIntegralType(self, true) ? at::kLong : self))};
     }},
    {"max", extremum},
    {"min", extremum},
    {"median", full},
    {"nanmedian", full},
    {"median.dim_values", along},
    {"nanmedian.dim_values", along},
    {"kthvalue.values", along},
    {"mode", along},
    {"mode.values", along},
    {"_aminmax", [](const Call& c) -> Tensors { return {fresh({}, c.t("self")), fresh({}, c.t("self"))}; }},
    {"_aminmax.dim",
     [](const Call& c) -> Tensors { auto r = at::aminmax(c.t("self"), c.n("dim"), c.b("keepdim")); return {std::get<0>(r), std::get<1>(r)}; }},
    {"count_nonzero.dim_IntList", [](const Call& c) -> Tensors { return {reduced(c.t("self"), c.ints("dim"), false, at::kLong)}; }},
    {"trace",
     [](const Call& c) -> Tensors {
       const at::Tensor self = c.t("self");
       TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
       return {fresh({}, self, c10::isIntegralType(self.scalar_type(), true) ? at::kLong : self.scalar_type())};
     }},
    {"histc",
     [](const Call& c) -> Tensors {
       TORCH_CHECK(c.n("bins") > 0, "torch.histc(): bins must be > 0, but got ", c.n("bins"));
       return {fresh({c.n("bins")}, c.t("self"))};
     }},
    {"histogram.bin_ct", [](const Call& c) -> Tensors { return {fresh({c.n("bins")}, c.t("self")), fresh({c.n("bins") + 1}, c.t("self"))}; }},
    {"histogram.bins_tensor", [](const Call& c) -> Tensors { return {fresh({c.t("bins").numel() - 1}, c.t("self")), contiguous(c.t("bins"))}; }},
    {"_histogramdd_from_bin_cts", [](const Call& c) -> Tensors { return {fresh(bins(c), c.t("self"))}; }},
    {"_histogramdd_from_bin_tensors",
     [](const Call& c) -> Tensors {
       Sizes sizes;
       for (const auto& bins : c.list("bins")) sizes.push_back(bins.numel() - 1);
       return {fresh(sizes, c.t("self"))};
     }},
    {"_histogramdd_bin_edges",
     [](const Call& c) -> Tensors {
       Tensors edges;
       for (const int64_t n : bins(c)) edges.push_back(fresh({n + 1}, c.t("self")));
       return edges;
     }},
    {"segment_reduce",
     [](const Call& c) -> Tensors {
       const at::Tensor data = c.t("data"), lengths = c.t("lengths"), offsets = c.t("offsets");
       TORCH_CHECK(lengths.defined() || offsets.defined(), "segment_reduce(): Either lengths or offsets must be defined.");
       Sizes sizes = (lengths.defined() ? lengths : offsets).sizes().vec();
       if (!lengths.defined()) sizes.back()--;
       const int64_t axis = wrap(c.n("axis"), data.dim());
       sizes.insert(sizes.end(), data.sizes().begin() + axis + 1, data.sizes().end());
       return {fresh(sizes, data)};
     }},
    {"_segment_reduce_backward", [](const Call& c) -> Tensors { return {contiguous(c.t("data"))}; }},

    // indices
    {"flip", [](const Call& c) -> Tensors { return {like(c.t("self"), {}, at::MemoryFormat::Preserve)}; }},
    {"roll", rolled},
    {"index_select", [](const Call& c) -> Tensors { return {taken(c.t("self"), c.n("dim"), c.t("index"))}; }},
    {"take", [](const Call& c) -> Tensors { return {contiguous(c.t("index"), c.t("self").scalar_type())}; }},
    {"narrow_copy.out",
     [](const Call& c) -> Tensors {
       Sizes sizes = c.t("self").sizes().vec();
       sizes[wrap(c.n("dim"), c.t("self").dim())] = c.n("length");
       return {fresh(sizes, c.t("self"))};
     }},
    {"bucketize.Tensor", [](const Call& c) -> Tensors { return searched(c, "boundaries", "self"); }},
    {"bucketize.Scalar", [](const Call& c) -> Tensors { return searched(c, "boundaries", "self"); }},
    {"searchsorted.Tensor", [](const Call& c) -> Tensors { return searched(c, "sorted_sequence", "self"); }},
    {"searchsorted.Scalar", [](const Call& c) -> Tensors { return searched(c, "sorted_sequence", "self"); }},
    {"triu_indices", [](const Call& c) -> Tensors { return triangle(c, false); }},
    {"tril_indices", [](const Call& c) -> Tensors { return triangle(c, true); }},
    {"_logcumsumexp", contiguous_first},
    {"unfold_backward", [](const Call& c) -> Tensors { return {fresh(c.ints("input_sizes"), c.t("grad_in"))}; }},
    {"repeat_interleave.Tensor",
     [](const Call& c) -> Tensors {
       if (!c.has("output_size")) refuse(c.schema, "its size is a sum of");
       return {fresh({c.n("output_size")}, c.t("repeats"))};
     }},

    // random numbers
    {"bernoulli.out", contiguous_first},
    {"poisson", contiguous_first},
    {"binomial", contiguous_first},
    {"_standard_gamma", contiguous_first},
    {"_standard_gamma_grad", [](const Call& c) -> Tensors { return {iterate({c.t(0), c.t(1)}, Dtypes::kSame)}; }},
    {"_sample_dirichlet", contiguous_first},
    {"_dirichlet_grad", contiguous_first},
    {"multinomial",
     [](const Call& c) -> Tensors {
       const at::Tensor self = c.t("self");
       TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
       TORCH_CHECK(c10::isFloatingType(self.scalar_type()), "multinomial only supports floating-point dtypes for input, got: ", self.scalar_type());
       TORCH_CHECK(c.n("num_samples") > 0, "cannot sample n_sample <= 0 samples");
       TORCH_CHECK(c.b("replacement") || c.n("num_samples") <= self.size(-1), "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
       return {self.dim() == 1 ? fresh({c.n("num_samples")}, self, at::kLong) : fresh({self.size(0), c.n("num_samples")}, self, at::kLong)};
     }},
    {"native_dropout", [](const Call& c) -> Tensors { return {like(c.t(0)), like(c.t(0), at::kBool)}; }},
    {"native_dropout_backward",
     [](const Call& c) -> Tensors {
       const at::Tensor t = iterate({c.t("grad_output"), c.t("mask")});
       return {like(t, floatDType(t.scalar_type()))};
     }},
    {"_fused_dropout", [](const Call& c) -> Tensors { return {like(c.t(0)), like(c.t(0), at::kByte)}; }},
    {"_masked_scale", like_first},
    {"rrelu_with_noise", contiguous_first},
    {"rrelu_with_noise_", like_first},
    {"randperm.generator_out", [](const Call& c) -> Tensors { return {fresh({c.n("n")}, c.t("out"))}; }},
};

}  // namespace tfx::meta
