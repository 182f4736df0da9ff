// Rules of layers: convolutions, norms, pooling, padding, sampling, losses,
// attention, recurrent cells and bags.
#pragma once

#include <ATen/ExpandUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/SDPBackend.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/Reduction.h>
#include <ATen/native/ConvUtils.h>
#include <ATen/native/GridSamplerUtils.h>
#include <ATen/native/LossMulti.h>
#include <ATen/native/Padding.h>
#include <ATen/native/Pool.h>
#include <ATen/native/im2col_shape_check.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>

#include "metacall.h"
#include "metapointwise.h"

namespace tfx::meta {

// convolved is the result of a convolution. Which kernel of the CPU would compute it,
// and in what memory format, libtorch says by tensors that look like the arguments;
// it checks them, too.
inline at::Tensor convolved(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, Sizes stride, Sizes padding, Sizes dilation, bool transposed, Sizes output_padding, int64_t groups) {
  const auto symbols = [](const Sizes& v) { return std::vector<c10::SymInt>(v.begin(), v.end()); };
  const int64_t spatial = weight.dim() - 2;
  TORCH_CHECK(spatial > 0, "weight should have at least three dimensions");
  for (Sizes* v : {&stride, &padding, &dilation, &output_padding}) *v = filled(*v, spatial);
  // of one spatial dimension the input is made contiguous first
  const at::Tensor dense = spatial == 1 ? contiguous(input) : input;
  const at::Tensor x = onCPU(dense), w = onCPU(weight);
  const std::optional<at::Tensor> b = bias.defined() ? std::optional<at::Tensor>(onCPU(bias)) : std::nullopt;
  const auto backend = at::native::select_conv_backend(x, w, b, symbols(stride), symbols(padding), symbols(dilation), transposed, symbols(output_padding), groups, std::nullopt);
  Sizes sizes;
  if (transposed) {
    sizes = at::native::conv_input_size(input.sizes(), weight.sizes(), padding, output_padding, stride, dilation, groups);
  } else {
    sizes = at::native::conv_output_size(input.sizes(), weight.sizes(), padding, stride, dilation);
  }
  if (spatial != 1) {
    const bool empty = backend == at::native::ConvBackend::Empty || backend == at::native::ConvBackend::MkldnnEmpty;
    return fresh(sizes, input, {}, empty ? at::MemoryFormat::Contiguous : at::native::_determine_backend_memory_format(x, w, backend));
  }
  // one dimension is computed as two, of which the first is 1
  const auto flat = [](const at::Tensor& t) {
    Sizes s = t.sizes().vec(), d = t.strides().vec();
    s.insert(s.begin() + 2, 1);
    d.insert(d.begin() + 2, s[3] * d[2]);
    at::Tensor v = onCPU(t);
    v.unsafeGetTensorImpl()->set_sizes_and_strides(s, d);
    return v;
  };
  sizes.insert(sizes.begin() + 2, 1);
  const at::Tensor out = fresh(sizes, input, {}, at::native::_determine_backend_memory_format(flat(dense), flat(weight), backend));
  return strided({sizes[0], sizes[1], sizes[3]}, {out.stride(0), out.stride(1), out.stride(3)}, input);
}

inline Tensors convolution(const Call& c) {
  return {convolved(c.t("input"), c.t("weight"), c.t("bias"), c.ints("stride"), c.ints("padding"), c.ints("dilation"), c.b("transposed"), c.ints("output_padding"), c.n("groups"))};
}

inline at::MemoryFormat channels_last(int64_t ndim) {
  return ndim == 4 ? at::MemoryFormat::ChannelsLast : ndim == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::Contiguous;
}

// pointwise_convolved is a convolution of oneDNN's own, which keeps to channels last
// where the input or a plain weight has it, and for weights that it has packed.
inline Tensors pointwise_convolved(const Call& c) {
  const at::Tensor x = c.t("X"), w = c.t("W");
  const int64_t k = x.dim() - 2;
  const auto last = channels_last(k + 2);
  const bool keeps = w.is_mkldnn() || x.suggest_memory_format() == last || w.suggest_memory_format() == last;
  const Sizes sizes = at::native::conv_output_size(x.sizes(), w.sizes(), filled(c.ints("padding"), k), filled(c.ints("stride"), k), filled(c.ints("dilation"), k));
  return {fresh(sizes, x, {}, keeps ? last : at::MemoryFormat::Contiguous)};
}

inline Tensors slow_convolution(const Call& c) {
  const at::Tensor self = c.t("self"), weight = c.t("weight");
  const size_t k = c.ints("kernel_size").size();
  const Sizes dilation = k == 2 && c.schema.name() == "aten::_slow_conv2d_forward" ? Sizes(k, 1) : c.schema.name().find("dilated") != std::string::npos ? filled(c.ints("dilation"), k) : Sizes(k, 1);
  Sizes in = self.sizes().vec();
  const bool batched = in.size() == k + 2;
  if (!batched) in.insert(in.begin(), 1);
  Sizes kernel{weight.size(0), in[1]};
  for (const int64_t n : filled(c.ints("kernel_size"), k)) kernel.push_back(n);
  Sizes out = at::native::conv_output_size(in, kernel, filled(c.ints("padding"), k), filled(c.ints("stride"), k), dilation);
  if (!batched) out.erase(out.begin());
  return {fresh(out, self, {}, batched && k == 2 && c.schema.name() == "aten::_slow_conv2d_forward" ? self.suggest_memory_format() : at::MemoryFormat::Contiguous)};
}

inline Tensors slow_transposed(const Call& c) {
  const at::Tensor self = c.t("self"), weight = c.t("weight");
  const size_t k = weight.dim() - 2;
  Sizes in = self.sizes().vec();
  const bool batched = in.size() == k + 2;
  if (!batched) in.insert(in.begin(), 1);
  Sizes out = at::native::conv_input_size(in, weight.sizes(), filled(c.ints("padding"), k), filled(c.ints("output_padding"), k), filled(c.ints("stride"), k), filled(c.ints("dilation"), k), 1);
  if (!batched) out.erase(out.begin());
  return {fresh(out, self)};
}

// Gradients look like what they are of, where they are asked for.
inline at::Tensor asked(const Call& c, size_t i, const at::Tensor& grad) { return c.masked("output_mask", i) ? grad : at::Tensor(); }

inline Tensors convolution_backward(const Call& c) {
  const at::Tensor input = c.t("input"), weight = c.t("weight"), grad = c.t("grad_output");
  const int64_t k = weight.dim() - 2;
  const auto symbols = [&](const char* name) { const Sizes v = filled(c.ints(name), k); return std::vector<c10::SymInt>(v.begin(), v.end()); };
  const at::Tensor x = onCPU(k == 1 ? contiguous(input) : input), w = onCPU(weight);
  const auto backend = at::native::select_conv_backend(x, w, std::nullopt, symbols("stride"), symbols("padding"), symbols("dilation"), c.b("transposed"), symbols("output_padding"), c.n("groups"), std::nullopt);
  const at::MemoryFormat format = k == 1 ? at::MemoryFormat::Contiguous : at::native::_determine_backend_memory_format(x, w, backend);
  return {asked(c, 0, fresh(input.sizes(), input, {}, format)), asked(c, 1, fresh(weight.sizes(), weight, {}, format)), asked(c, 2, fresh({grad.size(1)}, grad))};
}

// Norms.

inline at::ScalarType statistics(const at::Tensor& input, const at::Tensor& weight) { return (weight.defined() ? weight : input).scalar_type(); }

// normalized is the result of a batch norm with the statistics that training keeps.
inline Tensors normalized(const Call& c, bool training, bool reserve) {
  const at::Tensor input = c.t("input"), weight = c.t("weight");
  TORCH_CHECK(input.dim() >= 2, "Expected at least 2 input dimensions");
  const int64_t channels = training ? input.size(1) : 0;
  const at::ScalarType dtype = statistics(input, weight);
  Tensors out{like(input, {}, input.suggest_memory_format()), fresh({channels}, input, dtype), fresh({channels}, input, dtype)};
  if (reserve) out.push_back(fresh({0}, input, at::kByte));
  return out;
}

inline Tensors normalized_backward(const Call& c, const char* grad, bool masked) {
  const at::Tensor input = c.t("input"), weight = c.t("weight"), of = c.t(grad);
  const at::Tensor affine = fresh({input.size(1)}, input, weight.defined() ? weight.scalar_type() : input.scalar_type());
  if (!masked) return {like(input), like(weight), like(weight)};
  return {asked(c, 0, like(input, {}, input.suggest_memory_format())), asked(c, 1, affine), asked(c, 2, like(affine))};
}

// Pooling.

inline Sizes pooled3d(const Call& c) {
  constexpr size_t k = 3;
  const at::Tensor self = c.t("self");
  const Sizes kernel = filled(c.ints("kernel_size"), k), padding = filled(c.ints("padding"), k), dilation = filled(c.ints("dilation"), k);
  Sizes stride = filled(c.ints("stride"), k);
  if (stride.empty()) stride = kernel;
  const char* name = "max_pool3d_with_indices_out_cpu_template()";
  TORCH_CHECK(self.dim() == 4 || self.dim() == 5, name, ": Expected 4D or 5D tensor for input, but got: ", self.sizes());
  Sizes sizes = self.sizes().vec();
  const auto text = [](const Sizes& s) { return c10::str(s[s.size() - 4], "x", s[s.size() - 3], "x", s[s.size() - 2], "x", s[s.size() - 1]); };
  bool fits = true;
  for (size_t i = 0; i < k; i++) {
    int64_t& n = sizes[sizes.size() - k + i];
    n = at::native::pooling_output_shape<int64_t>(n, kernel[i], padding[i], stride[i], dilation[i], c.b("ceil_mode"));
    fits = fits && n >= 1;
  }
  for (int64_t i = self.dim() == 5 ? 1 : 0; i < self.dim(); i++) {
    TORCH_CHECK(self.size(i) > 0, name, ": Expected input to have non-zero size for non-batch dimensions, but input has sizes ", self.sizes(), " with dimension ", i, " being empty");
  }
  TORCH_CHECK(fits, "Given input size: (", text(self.sizes().vec()), "). Calculated output size: (", text(sizes), "). Output size is too small");
  return sizes;
}

inline at::MemoryFormat suggested(const at::Tensor& t, int64_t batched_dims) { return t.dim() == batched_dims ? t.suggest_memory_format() : at::MemoryFormat::Contiguous; }

inline at::Tensor adapted(const at::Tensor& self, const Sizes& output, const char* name) {
  const int64_t k = output.size(), ndim = self.dim();
  TORCH_CHECK(ndim == k + 1 || ndim == k + 2, name, "(): Expected ", k + 1, "D or ", k + 2, "D tensor, but got ", self.sizes());
  for (int64_t i = 1; i <= k; i++) {
    TORCH_CHECK(self.size(-i) > 0, name, "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", self.sizes(), " with dimension ", ndim - i, " being empty");
  }
  Sizes sizes = self.sizes().vec();
  std::copy(output.begin(), output.end(), sizes.end() - k);
  return fresh(sizes, self, {}, suggested(self, k + 2));
}

inline Tensors unpooled(const Call& c) {
  const at::Tensor self = c.t("self");
  const Sizes output = c.ints("output_size");
  const int64_t k = output.size();
  TORCH_CHECK(self.dim() == k + 1 || self.dim() == k + 2, "Input to max_unpooling", k, "d should be a ", k + 1, "d or ", k + 2, "d Tensor, but got a tensor with ", self.dim(), " dimensions.");
  if (k == 3) {
    const Sizes stride = c.ints("stride");
    TORCH_CHECK(std::all_of(stride.begin(), stride.end(), [](int64_t n) { return n > 0; }), "strides should be greater than zero, but got stride: ", at::IntArrayRef(stride));
  }
  TORCH_CHECK(c.t("indices").scalar_type() == at::kLong, "elements in indices should be type int64 but got: ", c.t("indices").scalar_type());
  TORCH_CHECK(self.sizes() == c.t("indices").sizes(), "Expected shape of indices to be same as that of the input tensor (", self.sizes(), ") but got indices tensor with shape: ", c.t("indices").sizes());
  Sizes sizes = self.sizes().vec();
  std::copy(output.begin(), output.end(), sizes.end() - k);
  return {fresh(sizes, self, {}, k == 2 ? suggested(self, 4) : at::MemoryFormat::Contiguous)};
}

// Padding and sampling.

// What releases without a function of that name are given: of two, a call takes the
// one that says the type of its last parameter.
namespace before {
inline Sizes pad_shape_check(const at::Tensor& self, at::IntArrayRef padding, int64_t k, ...) {
  TORCH_CHECK(static_cast<int64_t>(padding.size()) == 2 * k, "padding size is expected to be ", 2 * k, ", but got: ", padding.size());
  TORCH_CHECK(self.dim() == k + 1 || self.dim() == k + 2, "Expected ", k + 1, "D or ", k + 2, "D input with nonzero sizes, but got: ", self.sizes());
  Sizes sizes = self.sizes().vec();
  for (int64_t i = 0; i < k; i++) {
    int64_t& n = sizes[self.dim() - 1 - i];
    n += padding[2 * i] + padding[2 * i + 1];
    TORCH_CHECK(n >= 1, "input ", self.sizes(), " is too small for padding ", padding);
  }
  return sizes;
}
}  // namespace before

inline Tensors padded(const Call& c, int64_t k, bool reflection, int64_t channels_last_dims) {
  using namespace at::native::padding;
  using namespace before;
  const at::Tensor self = c.t("self");
  const Sizes padding = c.ints("padding");
  const auto sizes = pad_shape_check(self, at::IntArrayRef(padding), k, reflection);
  return {fresh(sizes, self, {}, suggested(self, channels_last_dims))};
}

inline Tensors sampled(const Call& c) {
  const at::Tensor input = c.t("input"), grid = c.t("grid");
  at::native::check_grid_sampler_common(input, grid);
  if (input.dim() == 4) at::native::check_grid_sampler_2d(input, grid);
  else at::native::check_grid_sampler_3d(input, grid, c.n("interpolation_mode"));
  Sizes sizes{input.size(0), input.size(1)};
  for (int64_t i = 1; i < grid.dim() - 1; i++) sizes.push_back(grid.size(i));
  return {fresh(sizes, input, {}, input.dim() == 4 ? input.suggest_memory_format() : at::MemoryFormat::Contiguous)};
}

inline Tensors sampled_backward(const Call& c) {
  return {c.masked("output_mask", 0) ? contiguous(c.t("input")) : at::Tensor(), contiguous(c.t("grid"))};
}

inline Tensors windows(const Call& c) {
  const at::Tensor self = c.t("self");
  const Sizes kernel = filled(c.ints("kernel_size"), 2), dilation = filled(c.ints("dilation"), 2), padding = filled(c.ints("padding"), 2), stride = filled(c.ints("stride"), 2);
  at::native::im2col_shape_check(self, at::Tensor(), kernel[0], kernel[1], dilation[0], dilation[1], padding[0], padding[1], stride[0], stride[1]);
  int64_t count = 1;
  for (size_t i = 0; i < 2; i++) count *= (self.size(-2 + static_cast<int64_t>(i)) + 2 * padding[i] - (dilation[i] * (kernel[i] - 1) + 1)) / stride[i] + 1;
  const Sizes sizes{self.size(-3) * kernel[0] * kernel[1], count};
  return {self.dim() == 3 ? fresh(sizes, self) : fresh({self.size(0), sizes[0], sizes[1]}, self)};
}

inline Tensors unwindowed(const Call& c) {
  const at::Tensor self = c.t("self");
  const Sizes output = filled(c.ints("output_size"), 2), kernel = filled(c.ints("kernel_size"), 2), dilation = filled(c.ints("dilation"), 2), padding = filled(c.ints("padding"), 2), stride = filled(c.ints("stride"), 2);
  at::native::col2im_shape_check(self, at::Tensor(), output[0], output[1], kernel[0], kernel[1], dilation[0], dilation[1], padding[0], padding[1], stride[0], stride[1]);
  const int64_t channels = self.size(-2) / (kernel[0] * kernel[1]);
  return {self.dim() == 2 ? fresh({channels, output[0], output[1]}, self) : fresh({self.size(0), channels, output[0], output[1]}, self)};
}

// Losses.

inline bool whole(const Call& c) { return c.n("reduction") == at::Reduction::None; }

inline Tensors broadcast_loss(const Call& c) {
  const at::Tensor t = iterate({c.t("self"), c.t("target")});
  return {whole(c) ? t : fresh({}, t)};
}

inline Tensors margin(const Call& c) {
  const at::Tensor self = c.t("self"), target = c.t("target");
  int64_t classes, samples;
  at::native::multi_margin_loss_shape_check(samples, classes, self.dim(), self, target, c.has("weight") ? std::optional<at::Tensor>(c.t("weight")) : std::nullopt);
  TORCH_CHECK(target.scalar_type() == at::kLong, "expected scalar type Long but found ", target.scalar_type());
  return {whole(c) && target.dim() > 0 ? fresh({samples}, self) : fresh({}, self)};
}

inline Tensors multilabel(const Call& c) {
  const at::Tensor self = c.t("self"), target = c.t("target");
  int64_t samples, classes;
  at::native::multilabel_margin_loss_shape_check(samples, classes, self.dim(), self, target);
  return {whole(c) && target.dim() > 1 ? fresh({samples}, self) : fresh({}, self), contiguous(target, self.scalar_type())};
}

inline Tensors nll2d(const Call& c) {
  const at::Tensor self = c.t("self"), target = c.t("target");
  TORCH_CHECK(target.dim() == 3, "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.dim());
  TORCH_CHECK(self.dim() == 4, "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", self.dim());
  TORCH_CHECK(self.size(0) == target.size(0) && self.size(2) == target.size(1) && self.size(3) == target.size(2), "size mismatch (got input: ", self.sizes(), " , target: ", target.sizes());
  return {whole(c) ? fresh({self.size(0), self.size(2), self.size(3)}, self) : fresh({}, self), fresh({}, self)};
}

// Attention.

// permuted is a tensor whose dimensions lie in memory in the given order, outermost first.
inline at::Tensor permuted(at::IntArrayRef sizes, at::IntArrayRef order, const at::Tensor& of, std::optional<at::ScalarType> dtype = {}) {
  Sizes strides(sizes.size());
  int64_t n = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = n;
    n *= std::max<int64_t>(sizes[order[i]], 1);
  }
  return strided(sizes, strides, of, dtype);
}

inline Tensors flash_cpu(const Call& c) {
  const at::Tensor q = c.t("query");
  const at::ScalarType sums = at::toOpMathType(q.scalar_type());
  return {like(q), permuted({q.size(0), q.size(1), q.size(2)}, {0, 2, 1}, q, sums)};
}

// attended is what the CPU gives, which libtorch would choose otherwise for meta: the
// memory format of a fused kernel is that of the query.
inline Tensors attended(const Call& c) {
  const at::Tensor q = c.t("query"), k = c.t("key"), v = c.t("value"), mask = c.t("attn_mask");
  const auto optional = [](const at::Tensor& t) { return t.defined() ? std::optional<at::Tensor>(t) : std::nullopt; };
  const auto scale = c("scale").toOptional<double>();
  const double dropout = c("dropout_p").toDouble();
  const bool causal = c.b("is_causal"), grouped = c.b("enable_gqa");
  const auto choice = at::_fused_sdp_choice(onCPU(q), onCPU(k), onCPU(v), optional(onCPU(mask)), dropout, causal, scale, grouped);
  if (choice == static_cast<int64_t>(at::SDPBackend::flash_attention)) return {like(q)};
  std::optional<at::Tensor> bias = optional(mask);
  if (mask.defined() && mask.scalar_type() == at::kBool) bias = like(mask, q.scalar_type());
  return {std::get<0>(at::_scaled_dot_product_attention_math(q, k, v, bias, dropout, causal, std::nullopt, scale, grouped))};
}

inline at::Tensor heads_inside(const at::Tensor& t) { return permuted(t.sizes(), {0, 2, 1, 3}, t); }

inline Tensors efficient(const Call& c) {
  const at::Tensor q = c.t("query");
  const int64_t sums = c.b("compute_log_sumexp") ? (q.size(2) + 31) / 32 * 32 : 0;
  return {permuted({q.size(0), q.size(1), q.size(2), c.t("value").size(3)}, {0, 2, 1, 3}, q), fresh({q.size(0), q.size(1), sums}, q, at::kFloat),
          fresh({}, q, at::kLong), fresh({}, q, at::kLong)};
}

inline Tensors packed_attention(const Call& c) {
  const at::Tensor qkv = c.t("qkv");
  const int64_t batch = qkv.size(0), length = qkv.size(1), heads = c.n("num_heads"), dim = qkv.size(2) / 3;
  const at::Tensor all = fresh({3, batch, heads, length, dim / heads}, qkv);
  return {all.select(0, 0), all.select(0, 1), all.select(0, 2)};
}

inline Tensors multi_head(const Call& c) {
  const at::Tensor q = c.t("query");
  const int64_t length = q.size(1);
  Tensors out{fresh({q.size(0), length, c.t("proj_weight").size(0)}, q), at::Tensor()};
  if (c.b("need_weights")) {
    out[1] = c.b("average_attn_weights") ? fresh({q.size(0), length, length}, q) : fresh({q.size(0), c.n("num_head"), length, length}, q);
  }
  return out;
}

// Recurrent cells.

inline Tensors mkldnn_rnn(const Call& c) {
  const at::Tensor input = c.t("input"), hx = c.t("hx_"), cx = c.t("cx_");
  Sizes sizes = input.sizes().vec();
  sizes.back() = c.n("hidden_size");
  return {fresh(sizes, input), contiguous(hx), contiguous(cx), fresh({0}, input, at::kByte)};
}

inline Tensors lstm_cell(const Call& c) { return {contiguous(c.t("cx")), contiguous(c.t("cx")), contiguous(c.t("input_gates"))}; }

inline Tensors cudnn_rnn(const Call& c) {
  const at::Tensor input = c.t("input"), hx = c.t("hx"), cx = c.t("cx");
  const Sizes batches = c.ints("batch_sizes");
  const bool first = c.b("batch_first");
  const int64_t directions = c.b("bidirectional") ? 2 : 1, hidden = c.n("hidden_size"), size = c.n("proj_size") != 0 ? c.n("proj_size") : hidden;
  const int64_t batch = batches.empty() ? input.size(first ? 0 : 1) : batches[0], layers = c.n("num_layers") * directions;
  Sizes sizes = input.sizes().vec();
  sizes.back() = size * directions;
  return {fresh(sizes, input), fresh({layers, batch, size}, hx), cx.defined() ? fresh({layers, batch, hidden}, cx) : fresh({0}, input), fresh({0}, input, at::kByte), c.t("weight_buf")};
}

// bags follows make_bag_size, make_offset2bag and make_max_indices of the CPU.
inline Tensors bags(const Call& c, bool forward_only) {
  const at::Tensor weight = c.t("weight"), indices = c.t("indices"), offsets = c.t("offsets"), scale = c.t("per_sample_weights");
  constexpr int64_t kSum = 0, kMax = 2;
  const auto check = [](const at::Tensor& t, const char* name, int at, at::ArrayRef<at::ScalarType> dtypes) {
    const at::Tensor shown = onCPU(t);
    at::checkScalarTypes("embedding_bag", at::TensorArg{shown, name, at}, dtypes);
  };
  check(indices, "indices", 1, {at::kLong, at::kInt});
  check(offsets, "offsets", 1, {at::kLong, at::kInt});
  check(weight, "weight", 1, {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble});
  const int64_t mode = c.n("mode");
  int64_t n = offsets.size(0);
  if (c.b("include_last_offset")) {
    TORCH_CHECK(n >= 1, "include_last_offset: number of offset should be at least 1");
    n--;
  }
  if (scale.defined()) {
    TORCH_CHECK(mode == kSum, "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='", mode == kMax ? "max" : "mean", "'). Please open a feature request on GitHub.");
    TORCH_CHECK(scale.dim() == 1 && scale.numel() == indices.numel(), "expected per_sample_weights to be 1-dim of as many elements as indices, got ", scale.sizes());
  }
  const bool halves = weight.scalar_type() == at::kFloat || weight.scalar_type() == at::kHalf || weight.scalar_type() == at::kBFloat16;
  const bool fast = halves && weight.stride(1) == 1 && c.n("padding_idx") < 0 && (!scale.defined() || scale.stride(0) == 1);
  const at::ScalarType dtype = indices.scalar_type() == at::kLong || offsets.scalar_type() == at::kLong ? at::kLong : at::kInt;
  const int64_t bag = mode != kSum || !fast ? indices.size(0) : 0;
  const Sizes counts{forward_only && mode == kSum ? offsets.size(0) : n};
  return {fresh({n, weight.size(1)}, weight), fresh({bag}, offsets, dtype), fresh(counts, offsets, dtype), fresh(mode == kMax ? Sizes{n, weight.size(1)} : counts, offsets, dtype)};
}

inline const Entry kLayers[] = {
    {"convolution", convolution},
    {"_convolution", convolution},
    {"convolution_overrideable", convolution},
    {"convolution_backward", convolution_backward},
    {"mkldnn_convolution",
     [](const Call& c) -> Tensors {
       return {convolved(c.t("self"), c.t("weight"), c.t("bias"), c.ints("stride"), c.ints("padding"), c.ints("dilation"), false, {0}, c.n("groups"))};
     }},
    {"_slow_conv2d_forward", slow_convolution},
    {"slow_conv3d_forward", slow_convolution},
    {"slow_conv_dilated2d", slow_convolution},
    {"slow_conv_dilated3d", slow_convolution},
    {"slow_conv_transpose3d", slow_transposed},
    {"_slow_conv2d_backward.output_mask",
     [](const Call& c) -> Tensors {
       return {asked(c, 0, contiguous(c.t("self"))), asked(c, 1, contiguous(c.t("weight"))), asked(c, 2, fresh({c.t("grad_output").size(1)}, c.t("self")))};
     }},
    {"mkldnn::_convolution_pointwise", pointwise_convolved},
    {"mkldnn::_convolution_pointwise.binary", pointwise_convolved},
    {"mkldnn::_convolution_pointwise_.binary", [](const Call& c) -> Tensors { return {c.t("other")}; }},
    {"mkldnn::_linear_pointwise",
     [](const Call& c) -> Tensors { Sizes s = c.t("X").sizes().vec(); s.back() = c.t("W").size(0); return {fresh(s, c.t("X"))}; }},
    {"mkldnn::_linear_pointwise.binary",
     [](const Call& c) -> Tensors { Sizes s = c.t("X").sizes().vec(); s.back() = c.t("W").size(0); return {fresh(s, c.t("X"))}; }},
    {"mkl::_mkl_linear",
     [](const Call& c) -> Tensors { Sizes s = c.t(0).sizes().vec(); s.back() = c.t(2).size(0); return {fresh(s, c.t(0))}; }},

    {"native_batch_norm", [](const Call& c) -> Tensors { return normalized(c, c.b("training"), false); }},
    {"_native_batch_norm_legit", [](const Call& c) -> Tensors { return normalized(c, c.b("training"), false); }},
    {"_native_batch_norm_legit.no_stats", [](const Call& c) -> Tensors { return normalized(c, c.b("training"), false); }},
    {"_batch_norm_with_update", [](const Call& c) -> Tensors { return normalized(c, true, true); }},
    {"cudnn_batch_norm",
     [](const Call& c) -> Tensors {
       const at::Tensor input = c.t("input"), weight = c.t("weight");
       const at::Tensor mean = fresh({c.b("training") ? weight.size(0) : 0}, weight);
       return {like(input), mean, like(mean), fresh({0}, input, at::kByte)};
     }},
    {"miopen_batch_norm",
     [](const Call& c) -> Tensors {
       const at::Tensor mean = fresh({c.b("training") ? c.t("weight").size(0) : 0}, c.t("weight"));
       return {like(c.t("input")), mean, like(mean)};
     }},
    {"batch_norm_update_stats",
     [](const Call& c) -> Tensors {
       const at::Tensor mean = fresh({c.t("input").size(1)}, c.t("input"), statistics(c.t("input"), c.t("running_mean")));
       return {mean, like(mean)};
     }},
    {"native_batch_norm_backward", [](const Call& c) -> Tensors { return normalized_backward(c, "grad_out", true); }},
    {"batch_norm_backward", [](const Call& c) -> Tensors { return normalized_backward(c, "grad_out", true); }},
    {"cudnn_batch_norm_backward", [](const Call& c) -> Tensors { return normalized_backward(c, "grad_output", false); }},
    {"miopen_batch_norm_backward", [](const Call& c) -> Tensors { return normalized_backward(c, "grad_output", false); }},
    {"native_layer_norm_backward",
     [](const Call& c) -> Tensors {
       const auto grad = [&](const char* name) { return c.has(name) ? contiguous(c.t(name)) : at::Tensor(); };
       return {asked(c, 0, like(c.t("input"))), asked(c, 1, grad("weight")), asked(c, 2, grad("bias"))};
     }},
    {"native_group_norm_backward",
     [](const Call& c) -> Tensors {
       const at::Tensor input = c.t("input"), weight = c.t("weight");
       const at::Tensor affine = weight.defined() ? contiguous(weight) : at::Tensor();
       return {asked(c, 0, like(input, {}, input.suggest_memory_format())), asked(c, 1, affine), asked(c, 2, affine.defined() ? like(affine) : affine)};
     }},
    {"_fused_rms_norm_backward",
     [](const Call& c) -> Tensors {
       return {asked(c, 0, like(c.t("input"))), c.has("weight") ? asked(c, 1, like(c.t("weight"))) : at::Tensor()};
     }},
    {"_weight_norm_interface",
     [](const Call& c) -> Tensors {
       const at::Tensor v = c.t("v"), g = c.t("g");
       return {like(v), like(g, g.scalar_type() == at::kBFloat16 ? at::kFloat : g.scalar_type())};
     }},
    {"_weight_norm_interface_backward", [](const Call& c) -> Tensors { return {like(c.t("saved_v")), like(c.t("saved_g"))}; }},

    {"max_pool3d_with_indices",
     [](const Call& c) -> Tensors {
       const at::Tensor self = c.t("self");
       const Sizes sizes = pooled3d(c);
       return {fresh(sizes, self, {}, suggested(self, 5)), fresh(sizes, self, at::kLong, suggested(self, 5))};
     }},
    {"max_pool3d_with_indices_backward", [](const Call& c) -> Tensors { return {fresh(c.t("self").sizes(), c.t("self"), {}, suggested(c.t("self"), 5))}; }},
    {"fractional_max_pool3d_backward", [](const Call& c) -> Tensors { return {contiguous(c.t("self"))}; }},
    {"_adaptive_avg_pool2d", [](const Call& c) -> Tensors { return {adapted(c.t("self"), c.ints("output_size"), "adaptive_avg_pool2d")}; }},
    {"_adaptive_avg_pool3d", [](const Call& c) -> Tensors { return {adapted(c.t("self"), c.ints("output_size"), "adaptive_avg_pool3d")}; }},
    {"adaptive_avg_pool2d.out", [](const Call& c) -> Tensors { return {adapted(c.t("self"), c.ints("output_size"), "adaptive_avg_pool2d")}; }},
    {"adaptive_avg_pool3d.out", [](const Call& c) -> Tensors { return {adapted(c.t("self"), c.ints("output_size"), "adaptive_avg_pool3d")}; }},
    {"_adaptive_avg_pool2d_backward", [](const Call& c) -> Tensors { return {fresh(c.t("self").sizes(), c.t("self"), {}, suggested(c.t("self"), 4))}; }},
    {"_adaptive_avg_pool3d_backward", [](const Call& c) -> Tensors { return {like(c.t("self"))}; }},
    {"adaptive_avg_pool3d_backward.grad_input", like_second},
    {"max_unpool2d", unpooled},
    {"max_unpool3d", unpooled},

    {"reflection_pad2d", [](const Call& c) -> Tensors { return padded(c, 2, true, 4); }},
    {"reflection_pad2d_backward", [](const Call& c) -> Tensors { return {fresh(c.t("self").sizes(), c.t("self"), {}, suggested(c.t("self"), 4))}; }},
    {"replication_pad2d_backward", [](const Call& c) -> Tensors { return {fresh(c.t("self").sizes(), c.t("self"), {}, suggested(c.t("self"), 4))}; }},
    {"replication_pad3d_backward", [](const Call& c) -> Tensors { return {fresh(c.t("self").sizes(), c.t("self"), {}, suggested(c.t("self"), 5))}; }},
    {"grid_sampler_2d", sampled},
    {"grid_sampler_3d", sampled},
    {"grid_sampler_2d_backward", sampled_backward},
    {"grid_sampler_3d_backward", sampled_backward},
    {"im2col", windows},
    {"col2im", unwindowed},
    {"channel_shuffle", [](const Call& c) -> Tensors { return {contiguous(c.t("self"))}; }},

    {"binary_cross_entropy", [](const Call& c) -> Tensors { return {whole(c) ? like(c.t("self")) : fresh({}, c.t("self"))}; }},
    {"binary_cross_entropy_backward", like_second},
    {"huber_loss",
     [](const Call& c) -> Tensors {
       TORCH_CHECK(c("delta").toDouble() > 0, "huber_loss does not support non-positive values for delta.");
       return broadcast_loss(c);
     }},
    {"huber_loss_backward.out", [](const Call& c) -> Tensors { return {iterate({c.t("self"), c.t("target"), c.t("grad_output")})}; }},
    {"smooth_l1_loss_backward.grad_input", [](const Call& c) -> Tensors { return {iterate({c.t("self"), c.t("target"), c.t("grad_output")})}; }},
    {"mse_loss_backward", [](const Call& c) -> Tensors { return {like(c.t("self"))}; }},
    {"multi_margin_loss", margin},
    {"multi_margin_loss_backward", like_second},
    {"multilabel_margin_loss_forward", multilabel},
    {"multilabel_margin_loss_backward", like_second},
    {"nll_loss2d_forward", nll2d},
    {"nll_loss2d_backward", like_second},
    {"_pdist_forward", [](const Call& c) -> Tensors { const int64_t n = c.t("self").size(0); return {fresh({n <= 1 ? 0 : n * (n - 1) / 2}, c.t("self"))}; }},
    {"_pdist_backward", like_second},
    {"_cdist_forward",
     [](const Call& c) -> Tensors {
       const at::Tensor x1 = c.t("x1"), x2 = c.t("x2");
       TORCH_CHECK(x1.dim() >= 2 && x2.dim() >= 2, "cdist only supports at least 2D tensors, got: ", x1.dim(), "D and ", x2.dim(), "D");
       TORCH_CHECK(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1), " X2: ", x2.size(-1));
       Sizes sizes = at::infer_size(x1.sizes().slice(0, x1.dim() - 2), x2.sizes().slice(0, x2.dim() - 2));
       sizes.push_back(x1.size(-2));
       sizes.push_back(x2.size(-2));
       return {fresh(sizes, x1)};
     }},
    {"_cdist_backward", [](const Call& c) -> Tensors { return {contiguous(c.t("x1"))}; }},

    {"scaled_dot_product_attention", attended},
    {"_scaled_dot_product_flash_attention_for_cpu", flash_cpu},
    {"_scaled_dot_product_flash_attention_for_cpu_backward",
     [](const Call& c) -> Tensors { return {heads_inside(c.t("query")), heads_inside(c.t("key")), heads_inside(c.t("value"))}; }},
    {"_scaled_dot_product_efficient_attention", efficient},
    {"_native_multi_head_attention", multi_head},
    {"_transform_bias_rescale_qkv", packed_attention},
    {"_transformer_encoder_layer_fwd", contiguous_first},
    {"_masked_softmax", contiguous_first},
    {"_masked_softmax_backward", contiguous_first},

    {"mkldnn_rnn_layer", mkldnn_rnn},
    {"mkldnn_rnn_layer_backward",
     [](const Call& c) -> Tensors {
       constexpr int64_t kGRU = 3;
       const auto grad = [&](const char* name) { return contiguous(c.t(name), at::kFloat); };
       const at::Tensor bias = fresh({c.n("mode") == kGRU ? 4 * c.n("hidden_size") : c.t("weight3").size(0)}, c.t("weight3"), at::kFloat);
       return {grad("input"), grad("weight1"), grad("weight2"), bias, bias, grad("hx_"), grad("cx_tmp")};
     }},
    {"_thnn_fused_lstm_cell", lstm_cell},
    {"_thnn_fused_lstm_cell_backward_impl",
     [](const Call& c) -> Tensors {
       const at::Tensor w = c.t("workspace");
       return {contiguous(w), contiguous(c.t("cx")), c.b("has_bias") ? fresh({w.size(1)}, w) : at::Tensor()};
     }},
    {"_thnn_fused_gru_cell",
     [](const Call& c) -> Tensors { return {contiguous(c.t("hx")), fresh({c.t("hx").size(0), c.t("hx").size(1) * 5}, c.t("hx"))}; }},
    {"_cudnn_rnn", cudnn_rnn},
    {"_embedding_bag", [](const Call& c) -> Tensors { return bags(c, false); }},
    {"_embedding_bag_forward_only", [](const Call& c) -> Tensors { return bags(c, true); }},
    {"_embedding_bag_dense_backward", [](const Call& c) -> Tensors { return {fresh({c.n("num_weights"), c.t("grad").size(1)}, c.t("grad"))}; }},
    {"_embedding_bag_per_sample_weights_backward", [](const Call& c) -> Tensors { return {fresh({c.t("indices").size(0)}, c.t("grad"))}; }},
    {"embedding_dense_backward", [](const Call& c) -> Tensors { return {fresh({c.n("num_weights"), c.t("grad_output").size(-1)}, c.t("grad_output"))}; }},
};

}  // namespace tfx::meta
