// Kernels: what is different about each node when it becomes a step.
#pragma once

#include "build.h"

namespace tfxd {

inline constexpr auto kInference = dnnl::prop_kind::forward_inference;

inline Dims less_one(Dims d) {
  for (int64_t& x : d) x--;
  return d;
}

inline void Builder::emit(const Group& g) {
  switch (p_.node(g[0]).op) {
    case TFX_NODE_CONVOLUTION: return convolution(g);
    case TFX_NODE_TRANSPOSED: return transposed(g);
    case TFX_NODE_LINEAR: return linear(g);
    case TFX_NODE_MATMUL: return matmul(g);
    case TFX_NODE_POOL:
    case TFX_NODE_ADAPTIVE_POOL: return pool(g);
    case TFX_NODE_BINARY: return binary(g);
    case TFX_NODE_ELTWISE: return eltwise(g);
    case TFX_NODE_CONCAT: return concat(g);
    case TFX_NODE_SOFTMAX: return softmax(g);
    case TFX_NODE_LAYER_NORM: return layer_norm(g);
    case TFX_NODE_FLATTEN:
    case TFX_NODE_RESHAPE: return reshape(g);
    case TFX_NODE_PERMUTE: return permute(g);
  }
}

// A convolution of few channels, the first of a network, has kernels that read
// them as they are given; a reorder would pad them.
inline constexpr int64_t kFewChannels = 4;

// spatial_layouts lists layouts of x and of the result, the best first: what the policy asks
// for where a kernel made for it exists, else what oneDNN likes.
inline std::vector<std::pair<Md, Md>> Builder::spatial_layouts(int64_t x, int64_t y) {
  const Shape &in = shape(x), &out = shape(y);
  std::vector<std::pair<Md, Md>> all;
  if (in.dims[1] <= kFewChannels) all.emplace_back(primary(x), wish(out));
  all.emplace_back(wish(in), wish(out));
  all.emplace_back(any(in), any(out));
  return all;
}

// best calls make with layouts until it gives a kernel made for the case, and
// returns those that gave the best.
template <class Make>
std::pair<Md, Md> Builder::best(const std::vector<std::pair<Md, Md>>& layouts, Make make) {
  int found = -1;
  std::pair<Md, Md> chosen = layouts.back();
  for (const auto& l : layouts) {
    const auto pd = make(attributes({}), l.first, l.second);
    const int r = pd ? rank(pd.impl_info_str()) : -1;
    if (r <= found) continue;
    found = r;
    chosen = l;
    if (r == 2) break;
  }
  return chosen;
}

inline void Builder::convolution(const Group& g) {
  const Node& n = p_.node(g[0]);
  Shape w = shape(n.in[1]);
  if (n.groups > 1) {
    w.dims[0] /= n.groups;
    w.dims.insert(w.dims.begin(), n.groups);
  }
  const bool bias = n.in[2] != kNone;
  const Md bias_md = bias ? plain(shape(n.in[2])) : Md();
  convolve(g, plain(w), bias_md, [&](const dnnl::primitive_attr& attr, const Md& src, const Md& dst) {
    using Pd = dnnl::convolution_forward::primitive_desc;
    const auto a = dnnl::algorithm::convolution_direct;
    return bias ? Pd(engine(), kInference, a, src, any(w), bias_md, dst, n.stride, less_one(n.dilation), n.before, n.after, attr, true)
                : Pd(engine(), kInference, a, src, any(w), dst, n.stride, less_one(n.dilation), n.before, n.after, attr, true);
  });
}

inline void Builder::transposed(const Group& g) {
  const Node& n = p_.node(g[0]);
  // the weight is [C, K/groups, …]; oneDNN's is [groups, K/groups, C/groups, …]
  Shape w = shape(n.in[1]);
  Dims strides = row_major(w.dims);
  w.dims[0] /= n.groups;
  std::swap(w.dims[0], w.dims[1]);
  std::swap(strides[0], strides[1]);
  if (n.groups > 1) {
    const int64_t apart = strides[1] * w.dims[1];
    w.dims.insert(w.dims.begin(), n.groups);
    strides.insert(strides.begin(), apart);
  }
  Dims after = n.before;
  for (size_t i = 0; i < after.size(); i++) after[i] -= n.extra[i];
  const bool bias = n.in[2] != kNone;
  const Md bias_md = bias ? plain(shape(n.in[2])) : Md();
  convolve(g, Md(w.dims, w.type, strides), bias_md, [&](const dnnl::primitive_attr& attr, const Md& src, const Md& dst) {
    using Pd = dnnl::deconvolution_forward::primitive_desc;
    const auto a = dnnl::algorithm::deconvolution_direct;
    return bias ? Pd(engine(), kInference, a, src, any(w), bias_md, dst, n.stride, less_one(n.dilation), n.before, after, attr, true)
                : Pd(engine(), kInference, a, src, any(w), dst, n.stride, less_one(n.dilation), n.before, after, attr, true);
  });
}

// convolve is what both convolutions do: weight describes the row-major elements
// of the constant, make gives the primitive for post-ops and layouts.
template <class Make>
void Builder::convolve(const Group& g, const Md& weight, const Md& bias, Make make) {
  const Node& n = p_.node(g[0]);
  const auto [src, dst] = best(spatial_layouts(n.in[0], g[0]), make);
  auto f = fuse(g, shape(g[0]), dst, value(n.in[0]).slots, [&](const dnnl::primitive_attr& attr, const Md& to) { return make(attr, src, to); });
  std::vector<std::pair<int, int>> args{{DNNL_ARG_SRC, as(n.in[0], f.pd.src_desc())}, {DNNL_ARG_WEIGHTS, constant_slot(n.in[1], weight, f.pd.weights_desc())}};
  if (n.in[2] != kNone) args.emplace_back(DNNL_ARG_BIAS, constant_slot(n.in[2], bias, bias));
  finish(g, std::move(f), std::move(args));
}

inline void Builder::linear(const Group& g) {
  const Node& n = p_.node(g[0]);
  const Shape &x = shape(n.in[0]), &w = shape(n.in[1]);
  const int64_t k = w.dims[1], m = count(x.dims) / k, p = w.dims[0];
  const Shape src{{m, k}, x.type}, weight{{k, p}, x.type}, dst{{m, p}, x.type}, row{{1, p}, x.type};
  const bool bias = n.in[2] != kNone;
  const auto make = [&](const dnnl::primitive_attr& attr, const Md& to) {
    using Pd = dnnl::matmul::primitive_desc;
    return bias ? Pd(engine(), plain(src), any(weight), plain(row), to, attr, true) : Pd(engine(), plain(src), any(weight), to, attr, true);
  };
  const int rows = viewed(n.in[0], src);
  auto f = fuse(g, dst, plain(dst), {rows}, make);
  const Md how(weight.dims, weight.type, Dims{1, k});  // the weight is [p, k]
  std::vector<std::pair<int, int>> args{{DNNL_ARG_SRC, rows}, {DNNL_ARG_WEIGHTS, constant_slot(n.in[1], how, f.pd.weights_desc())}};
  if (bias) args.emplace_back(DNNL_ARG_BIAS, constant_slot(n.in[2], plain(row), plain(row)));
  finish(g, std::move(f), std::move(args));
}

inline void Builder::matmul(const Group& g) {
  const Node& n = p_.node(g[0]);
  const Shape& y = shape(g[0]);
  Shape row{Dims(y.dims.size(), 1), y.type};
  row.dims.back() = y.dims.back();
  // matrices may lie in any order of their sizes: a transposed one needs no copy
  const auto lies = [&](int64_t v) {
    const Md& own = primary(v);
    return own.get_inner_nblks() == 0 ? own : plain(shape(v));
  };
  const Md a = lies(n.in[0]), b = p_.is_constant(n.in[1]) ? any(shape(n.in[1])) : lies(n.in[1]);
  const bool bias = n.in[2] != kNone;
  const auto make = [&](const dnnl::primitive_attr& attr, const Md& to) {
    using Pd = dnnl::matmul::primitive_desc;
    return bias ? Pd(engine(), a, b, plain(row), to, attr, true) : Pd(engine(), a, b, to, attr, true);
  };
  const int left = as(n.in[0], a);
  const int right = p_.is_constant(n.in[1]) ? -1 : as(n.in[1], b);
  std::vector<int> sources{left};
  if (right >= 0) sources.push_back(right);
  auto f = fuse(g, y, plain(y), sources, make);
  std::vector<std::pair<int, int>> args{{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right >= 0 ? right : as(n.in[1], f.pd.weights_desc())}};
  if (bias) args.emplace_back(DNNL_ARG_BIAS, constant_slot(n.in[2], plain(row), plain(row)));
  finish(g, std::move(f), std::move(args));
}

inline void Builder::pool(const Group& g) {
  const Node& n = p_.node(g[0]);
  const Shape &x = shape(n.in[0]), &y = shape(g[0]);
  Dims kernel = n.kernel, stride = n.stride, before = n.before, dilation = n.dilation;
  if (n.op == TFX_NODE_ADAPTIVE_POOL) {
    for (size_t i = 0; i < n.sizes.size(); i++) kernel.push_back(x.dims[i + 2] / n.sizes[i]);
    stride = kernel;
    before.assign(kernel.size(), 0);
    dilation.assign(kernel.size(), 1);
  }
  Dims after;
  for (size_t i = 0; i < kernel.size(); i++) {
    after.push_back((y.dims[i + 2] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 - x.dims[i + 2] - before[i]);
    if (n.kind == TFX_POOL_AVERAGE && after[i] > before[i]) {
      fail(TFX_DELEGATE_NOT_IMPLEMENTED, p_.call(g[0]), ": expected windows that end in the padding, got one beyond it, which has another divisor");
    }
  }
  const auto algorithm = n.kind == TFX_POOL_MAX         ? dnnl::algorithm::pooling_max
                         : n.kind == TFX_POOL_AVERAGE ? dnnl::algorithm::pooling_avg_include_padding
                                                      : dnnl::algorithm::pooling_avg_exclude_padding;
  const Md src = layouts_ == TFX_LAYOUTS_CHANNELS_LAST ? wish(x) : primary(n.in[0]);
  const auto make = [&](const dnnl::primitive_attr& attr, const Md& dst) {
    return dnnl::pooling_forward::primitive_desc(engine(), kInference, algorithm, src, dst, stride, kernel, less_one(dilation), before, after, attr, true);
  };
  auto f = fuse(g, y, any(y), value(n.in[0]).slots, make);
  finish(g, std::move(f), {{DNNL_ARG_SRC, as(n.in[0], src)}});
}

inline void Builder::binary(const Group& g) {
  const Node& n = p_.node(g[0]);
  const Shape& y = shape(g[0]);
  int64_t a = n.in[0], b = n.in[1];
  const bool swaps = n.kind != TFX_BINARY_SUB && n.kind != TFX_BINARY_DIV;
  // the first operand has the sizes and the layout of the result
  const bool full_a = shape(a).dims == y.dims, full_b = shape(b).dims == y.dims;
  if (swaps && full_b && (!full_a || p_.is_constant(a) || (p_.is_input(a) && !p_.is_input(b) && !p_.is_constant(b)))) std::swap(a, b);
  if (shape(a).dims != y.dims) {
    fail(TFX_DELEGATE_NOT_IMPLEMENTED, p_.call(g[0]), ": expected a first operand of sizes ", y.dims, ", got ", shape(a).dims);
  }
  const Md md = primary(a);
  const int left = as(a, md);
  int right;
  Md second_md = md;
  if (shape(b).dims == y.dims) {
    right = as(b, md);
  } else {
    const Shape s = second(b, g[0], y);
    second_md = plain(s);
    right = s.dims == shape(b).dims ? as(b, second_md) : viewed(b, s);
  }
  const auto make = [&](const dnnl::primitive_attr& attr, const Md& dst) {
    return dnnl::binary::primitive_desc(engine(), binary_algorithm(n.kind), md, second_md, dst, attr, true);
  };
  auto f = fuse(g, y, md, {left, right}, make);
  int over = -1;  // element by element, so the result may take the place of an operand
  if (f.sum < 0 && f.args.empty()) {
    if (may_overwrite(left, g, f.members, {})) over = left;
    else if (equivalent(second_md, md) && may_overwrite(right, g, f.members, {})) over = right;
  }
  finish(g, std::move(f), {{DNNL_ARG_SRC_0, left}, {DNNL_ARG_SRC_1, right}}, over);
}

inline void Builder::eltwise(const Group& g) {
  const Node& n = p_.node(g[0]);
  const Function fn = function_of(n);
  const int src = first(n.in[0]);
  const Md md = slot(src).md;
  const auto make = [&](const dnnl::primitive_attr& attr, const Md& dst) {
    return dnnl::eltwise_forward::primitive_desc(engine(), kInference, fn.algorithm, md, dst, fn.alpha, fn.beta, attr, true);
  };
  auto f = fuse(g, shape(g[0]), md, {src}, make);
  const int over = may_overwrite(src, g, f.members, {}) ? src : -1;
  finish(g, std::move(f), {{DNNL_ARG_SRC, src}}, over);
}

inline void Builder::concat(const Group& g) {
  const Node& n = p_.node(g[0]);
  const Shape& y = shape(g[0]);
  const int along = static_cast<int>(n.axis < 0 ? n.axis + static_cast<int64_t>(y.dims.size()) : n.axis);
  using Pd = dnnl::concat::primitive_desc;
  const dnnl::primitive_attr attr = attributes({});
  // all in the layout of the first, if the sizes allow it without holes
  const auto with = [&](auto layout) {
    std::vector<Md> all;
    for (int64_t v : n.in) all.push_back(layout(v));
    return all;
  };
  std::vector<Md> sources = layouts_ == TFX_LAYOUTS_CHANNELS_LAST && y.dims.size() > 2 ? with([&](int64_t v) { return last(shape(v)); }) : with([&](int64_t v) { return primary(v); });
  Pd pd(engine(), along, sources, attr);
  if (rank(pd.impl_info_str()) == 0) {
    sources = with([&](int64_t v) { return y.dims.size() > 2 ? last(shape(v)) : plain(shape(v)); });
    pd = Pd(engine(), along, sources, attr);
  }
  std::vector<std::pair<int, int>> args;
  for (size_t i = 0; i < n.in.size(); i++) args.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), as(n.in[i], sources[i]));
  finish(g, Fused<Pd>{pd}, std::move(args));
}

inline void Builder::softmax(const Group& g) {
  const Node& n = p_.node(g[0]);
  const Shape& y = shape(g[0]);
  const int along = static_cast<int>(n.axis < 0 ? n.axis + static_cast<int64_t>(y.dims.size()) : n.axis);
  const int src = first(n.in[0]);
  const Md md = slot(src).md;
  const auto make = [&](const dnnl::primitive_attr& attr, const Md& dst) {
    return dnnl::softmax_forward::primitive_desc(engine(), kInference, dnnl::algorithm::softmax_accurate, md, dst, along, attr, true);
  };
  auto f = fuse(g, y, md, {src}, make);
  const int over = may_overwrite(src, g, f.members, {}) ? src : -1;
  finish(g, std::move(f), {{DNNL_ARG_SRC, src}}, over);
}

inline void Builder::layer_norm(const Group& g) {
  const Node& n = p_.node(g[0]);
  const Shape& x = shape(n.in[0]);
  const int64_t c = x.dims.back();
  const Shape rows{{count(x.dims) / c, c}, x.type};
  const int src = viewed(n.in[0], rows);
  auto flags = dnnl::normalization_flags::none;
  if (n.in[1] != kNone) flags = flags | dnnl::normalization_flags::use_scale;
  if (n.in[2] != kNone) flags = flags | dnnl::normalization_flags::use_shift;
  const auto make = [&](const dnnl::primitive_attr& attr, const Md& dst) {
    return dnnl::layer_normalization_forward::primitive_desc(engine(), kInference, plain(rows), dst, n.alpha, flags, attr, true);
  };
  auto f = fuse(g, rows, plain(rows), {src}, make);
  const int over = may_overwrite(src, g, f.members, {}) ? src : -1;
  std::vector<std::pair<int, int>> args{{DNNL_ARG_SRC, src}};
  // scale and shift are float32 whatever the elements are
  const Md how = plain(Shape{{c}, x.type}), wide = plain(Shape{{c}, Type::f32});
  if (n.in[1] != kNone) args.emplace_back(DNNL_ARG_SCALE, constant_slot(n.in[1], how, wide));
  if (n.in[2] != kNone) args.emplace_back(DNNL_ARG_SHIFT, constant_slot(n.in[2], how, wide));
  finish(g, std::move(f), std::move(args), over);
}

// A reshape moves nothing where its value lies row after row; it is another view
// of the same place.
inline void Builder::reshape(const Group& g) {
  const int64_t x = p_.node(g[0]).in[0];
  const int from = as(x, plain(shape(x)));
  add_slot(g[0], plain(shape(g[0])), slot(from).place);
  rest(g, 1);
}

inline void Builder::permute(const Group& g) {
  const Node& n = p_.node(g[0]);
  const int from = first(n.in[0]);
  std::vector<int> to(n.sizes.size());
  for (size_t i = 0; i < n.sizes.size(); i++) to[static_cast<size_t>(n.sizes[i])] = static_cast<int>(i);
  add_slot(g[0], slot(from).md.permute_axes(to), slot(from).place);
  rest(g, 1);
}

}  // namespace tfxd
