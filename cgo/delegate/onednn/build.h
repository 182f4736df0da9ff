// Building: the steps of a class. Groups become kernels one after the other; this
// file holds what all kernels share: values in layouts, reorders between them,
// post-ops, the borders. kernels.h has what is different about each.
#pragma once

#include "class.h"
#include "fuse.h"

namespace tfxd {

inline bool starts_with(const std::string& s, const char* with) { return s.rfind(with, 0) == 0; }

// rank orders implementations: 0 for the plain loops that exist for every case, 1
// for products of matrices around copies, 2 for kernels made for the case.
inline int rank(const std::string& implementation) {
  if (implementation.find("ref") != std::string::npos || starts_with(implementation, "simple:any")) return 0;
  return starts_with(implementation, "gemm") ? 1 : 2;
}

class Builder {
 public:
  Builder(const Program& p, std::vector<Shape> shapes, const std::vector<Md>& inputs, Constants& constants, int64_t layouts)
      : p_(p), shapes_(std::move(shapes)), constants_(constants), layouts_(layouts), made_(new Class) {
    values_.resize(shapes_.size());
    for (size_t v = 0; v < values_.size(); v++) values_[v].remaining = p.uses[v];
    for (size_t i = 0; i < inputs.size(); i++) add_slot(static_cast<int64_t>(i), inputs[i], add_place(Place::kInput, static_cast<int64_t>(i), inputs[i]));
  }

  std::unique_ptr<Class> build() {
    for (const Group& g : groups_of(p_, shapes_)) emit(g);
    for (size_t i = 0; i < p_.outputs.size(); i++) output(static_cast<int64_t>(i));
    made_->finish();
    return std::move(made_);
  }

 private:
  struct Value {
    std::vector<int> slots;  // the first is the layout it was computed in
    int32_t remaining;       // readers that are not emitted yet
  };

  // A Fused is a kernel with what went into it: the first members of a group.
  template <class Pd>
  struct Fused {
    Pd pd;
    size_t members = 1;
    std::vector<std::pair<int, int>> args{};  // of the post-ops
    int sum = -1;                           // slot that the kernel adds to and writes
  };

  // values and slots

  const Shape& shape(int64_t v) const { return shapes_[static_cast<size_t>(v)]; }
  Value& value(int64_t v) { return values_[static_cast<size_t>(v)]; }
  const Slot& slot(int s) const { return made_->slots[static_cast<size_t>(s)]; }
  Place& place_of(int s) { return made_->places[static_cast<size_t>(slot(s).place)]; }
  const Md& primary(int64_t v) { return slot(first(v)).md; }

  int add_place(Place::Kind kind, int64_t index, const Md& md) {
    Place p;
    p.kind = kind;
    p.index = index;
    p.bytes = (md.get_size() + TFX_DELEGATE_ALIGN - 1) / TFX_DELEGATE_ALIGN * TFX_DELEGATE_ALIGN;
    made_->places.push_back(std::move(p));
    return static_cast<int>(made_->places.size()) - 1;
  }

  // add_slot sees a place through md; v is the value whose elements are there, kNone for
  // memory of a kernel's own.
  int add_slot(int64_t v, const Md& md, int place) {
    made_->slots.push_back({md, place});
    const int s = static_cast<int>(made_->slots.size()) - 1;
    if (v != kNone) {
      value(v).slots.push_back(s);
      made_->places[static_cast<size_t>(place)].values.push_back(v);
    }
    return s;
  }

  int new_slot(int64_t v, const Md& md) { return add_slot(v, md, add_place(Place::kScratch, -1, md)); }

  // constant_slot is constant v, whose row-major elements how describes, as want.
  int constant_slot(int64_t v, const Md& how, const Md& want) {
    auto packed = constants_.get(static_cast<size_t>(v - p_.ninputs), how, want);
    const auto found = std::find(made_->packed.begin(), made_->packed.end(), packed);
    const int64_t index = found - made_->packed.begin();
    if (found == made_->packed.end()) made_->packed.push_back(std::move(packed));
    return add_slot(kNone, want, add_place(Place::kConstant, index, want));
  }

  // first is the slot in which v was computed.
  int first(int64_t v) {
    if (value(v).slots.empty()) {  // a constant, read as it is
      const Md rows = plain(shape(v));
      value(v).slots.push_back(constant_slot(v, rows, rows));
    }
    return value(v).slots[0];
  }

  // as returns a slot of v in the layout want, reordering where none is there.
  int as(int64_t v, const Md& want) {
    if (p_.is_constant(v)) return constant_slot(v, plain(shape(v)), want);
    for (int s : value(v).slots) {
      if (slot(s).md == want) return s;
    }
    for (int s : value(v).slots) {
      if (equivalent(slot(s).md, want)) return add_slot(v, want, slot(s).place);
    }
    return reordered(first(v), v, want);
  }

  int reordered(int from, int64_t v, const Md& want) {
    const int to = new_slot(v, want);
    reorder_step(from, to, v);
    return to;
  }

  void reorder_step(int from, int to, int64_t v) {
    const Md a = slot(from).md, b = slot(to).md;
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc pd(engine(), a, engine(), b, attr);
    add_step(pd, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, "reorder of " + (p_.is_node(v) ? p_.call(v) : "input " + std::to_string(v)));
  }

  // viewed returns a slot of v with other sizes of the same row-major elements.
  int viewed(int64_t v, const Shape& to) {
    const Md md = plain(to);
    if (p_.is_constant(v)) return constant_slot(v, md, md);
    const int rows = as(v, plain(shape(v)));
    if (to.dims == shape(v).dims) return rows;
    const int s = add_slot(kNone, md, slot(rows).place);
    place_of(s).values.push_back(v);
    return s;
  }

  // wish is the layout for spatial values that the policy asks for.
  Md wish(const Shape& s) const {
    if (s.dims.size() < 3) return any(s);
    if (layouts_ == TFX_LAYOUTS_CHANNELS_LAST) return last(s);
    return layouts_ == TFX_LAYOUTS_BLOCKED && s.dims[1] >= block() ? blocked(s) : any(s);
  }

  // steps

  template <class Pd>
  void add_step(const Pd& pd, std::vector<std::pair<int, int>> args, std::string what) {
    const Md scratchpad = pd.scratchpad_desc();
    if (scratchpad.get_size() > 0) args.emplace_back(DNNL_ARG_SCRATCHPAD, new_slot(kNone, scratchpad));
    const std::string kernel = pd.impl_info_str();
    made_->steps.push_back({dnnl::primitive(pd.get()), std::move(args), std::move(what), kernel});
  }

  std::string what(const Group& g, size_t members) const {
    std::string text = p_.call(g[0]);
    for (size_t i = 1; i < members; i++) text += " + " + p_.call(g[i]);
    return text;
  }

  // read_by_others counts the readers of v that are not among the first members of g.
  int32_t read_by_others(int64_t v, const Group& g, size_t members) {
    int32_t n = value(v).remaining;
    for (size_t i = 0; i < members; i++) n -= static_cast<int32_t>(std::count(p_.node(g[i]).in.begin(), p_.node(g[i]).in.end(), v));
    return n;
  }

  // may_overwrite reports whether nothing reads the elements of slot s after the
  // first members of g. sources are slots that the kernel itself reads.
  bool may_overwrite(int s, const Group& g, size_t members, const std::vector<int>& sources) {
    const Place& p = place_of(s);
    if (p.kind != Place::kScratch) return false;
    for (int64_t v : p.values) {
      if (read_by_others(v, g, members) > 0) return false;
    }
    return std::none_of(sources.begin(), sources.end(), [&](int other) { return slot(other).place == slot(s).place; });
  }

  // done notes that the first members of g have been emitted.
  void done(const Group& g, size_t members) {
    for (size_t i = 0; i < members; i++) {
      for (int64_t v : p_.node(g[i]).in) {
        if (v != kNone) value(v).remaining--;
      }
    }
  }

  // rest emits what did not go into the kernel of g's first members.
  void rest(const Group& g, size_t members) {
    done(g, members);
    if (members < g.size()) emit(Group(g.begin() + static_cast<int64_t>(members), g.end()));
  }

  // post-ops

  static dnnl::algorithm binary_algorithm(int32_t kind) {
    using A = dnnl::algorithm;
    static const A all[] = {A::undef, A::binary_add, A::binary_sub, A::binary_mul, A::binary_div, A::binary_max, A::binary_min};
    return all[kind];
  }

  struct Function {
    dnnl::algorithm algorithm;
    float alpha, beta;
  };

  static Function function_of(const Node& n) {
    using A = dnnl::algorithm;
    switch (n.kind) {
      case TFX_ELTWISE_RELU: return {A::eltwise_relu, 0, 0};
      case TFX_ELTWISE_CLIP: return {A::eltwise_clip, n.alpha, n.beta};
      case TFX_ELTWISE_HARDSWISH: return {A::eltwise_hardswish, 1.0f / 6, 0.5f};
      case TFX_ELTWISE_HARDSIGMOID: return {A::eltwise_hardsigmoid, 1.0f / 6, 0.5f};
      case TFX_ELTWISE_SIGMOID: return {A::eltwise_logistic, 0, 0};
      case TFX_ELTWISE_SILU: return {A::eltwise_swish, 1, 0};
      case TFX_ELTWISE_TANH: return {A::eltwise_tanh, 0, 0};
      case TFX_ELTWISE_GELU: return {A::eltwise_gelu_erf, 0, 0};
      case TFX_ELTWISE_GELU_TANH: return {A::eltwise_gelu_tanh, 0, 0};
      case TFX_ELTWISE_LEAKY_RELU: return {A::eltwise_relu, n.alpha, 0};
      case TFX_ELTWISE_ELU: return {A::eltwise_elu, n.alpha, 0};
      case TFX_ELTWISE_AFFINE: return {A::eltwise_linear, n.alpha, n.beta};
      case TFX_ELTWISE_ABS: return {A::eltwise_abs, 0, 0};
      case TFX_ELTWISE_SQRT: return {A::eltwise_sqrt, 0, 0};
      case TFX_ELTWISE_SQUARE: return {A::eltwise_square, 0, 0};
      case TFX_ELTWISE_EXP: return {A::eltwise_exp, 0, 0};
      case TFX_ELTWISE_LOG: return {A::eltwise_log, 0, 0};
      case TFX_ELTWISE_SOFTPLUS: return {A::eltwise_soft_relu, n.alpha, 0};
      case TFX_ELTWISE_MISH: return {A::eltwise_mish, 0, 0};
    }
    fail(TFX_DELEGATE_NOT_IMPLEMENTED, "eltwise kind ", n.kind);
  }

  // second gives the sizes in which v broadcasts to those of a kernel's result. It
  // has no sizes where it does not.
  Shape second(int64_t v, int64_t result, const Shape& kernel) const {
    const Dims &own = shape(v).dims, &full = shape(result).dims;
    if (own == full) return kernel;
    Shape s{Dims(kernel.dims.size(), 1), kernel.type};
    if (kernel.dims == full) {
      if (own.size() > full.size()) return {};
      std::copy(own.begin(), own.end(), s.dims.end() - static_cast<int64_t>(own.size()));
      return s;
    }
    // the kernel sees rows: what differs along rows only
    if (count(own) != own.back()) return {};
    s.dims.back() = own.back();
    return s;
  }

  // fuse finds the kernel that takes the most of g along. make gives the primitive
  // for post-ops and a layout of the result, an empty one where there is none; kernel are
  // the sizes that it sees, dst the layout that its result should have.
  template <class Make>
  auto fuse(const Group& g, const Shape& kernel, const Md& dst, const std::vector<int>& sources, Make make) {
    using Pd = decltype(make(dnnl::primitive_attr(), dst));
    const Pd bare = make(attributes({}), dst);
    if (!bare) fail(TFX_DELEGATE_NOT_IMPLEMENTED, p_.call(g[0]), ": oneDNN has no kernel for it on this machine");
    const int good = rank(bare.impl_info_str());
    for (size_t members = g.size(); members > 1; members--) {
      for (const bool sum : {true, false}) {
        Fused<Pd> f;
        if (fused(g, members, sum, kernel, dst, sources, good, make, f)) return f;
      }
    }
    return Fused<Pd>{bare};
  }

  static dnnl::primitive_attr attributes(const dnnl::post_ops& ops) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_post_ops(ops);
    return attr;
  }

  // partial_operands reports whether an operand of arithmetic has fewer elements than the
  // result.
  bool partial_operands(int64_t v) const {
    const Node& n = p_.node(v);
    return shape(n.in[0]).dims != shape(v).dims || shape(n.in[1]).dims != shape(v).dims;
  }

  // one_pixel reports whether a value is images of one pixel: where there are several,
  // kernels that do arithmetic with a value for each channel twice give wrong elements.
  static bool one_pixel(const Shape& s) {
    return s.dims.size() > 2 && std::all_of(s.dims.begin() + 2, s.dims.end(), [](int64_t n) { return n == 1; });
  }

  template <class Pd, class Make>
  bool fused(const Group& g, size_t members, bool sum, const Shape& kernel, const Md& dst, const std::vector<int>& sources, int good, Make make, Fused<Pd>& f) {
    dnnl::post_ops ops;
    int64_t summed = kNone;
    std::vector<std::pair<int, int64_t>> seconds;  // argument and value of binary post-ops
    int64_t partial = p_.node(g[0]).op == TFX_NODE_BINARY && partial_operands(g[0]);
    for (size_t i = 1; i < members; i++) {
      const Node& n = p_.node(g[i]);
      if (n.op == TFX_NODE_ELTWISE) {
        const Function fn = function_of(n);
        ops.append_eltwise(fn.algorithm, fn.alpha, fn.beta);
        continue;
      }
      const int64_t v = other(n, g[i - 1]);
      const bool full = shape(v).dims == shape(g[i]).dims;
      if (sum && summed == kNone && n.kind == TFX_BINARY_ADD && full && !p_.is_constant(v) && may_overwrite(first(v), g, members, sources)) {
        ops.append_sum(1.0f);
        summed = v;
        continue;
      }
      const Shape s = second(v, g[i], kernel);
      partial += !full;
      if (s.dims.empty() || (partial > 1 && one_pixel(shape(g[i])))) return false;
      ops.append_binary(binary_algorithm(n.kind), full ? layout_of_second(s, kernel, dst) : plain(s));
      seconds.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len() - 1) | DNNL_ARG_SRC_1, v);
    }
    if (sum && summed == kNone) return false;  // the other attempt is the same
    const dnnl::primitive_attr attr = attributes(ops);
    const auto take = [&](const Pd& pd) {
      if (!pd || rank(pd.impl_info_str()) < good) return false;
      f.pd = pd;
      return true;
    };
    // a sum is best where its operand lies as the kernel would write
    const bool rows = kernel.dims != shape(g[0]).dims;
    if (!take(make(attr, dst))) return false;
    if (summed != kNone && !rows && !equivalent(f.pd.dst_desc(), primary(summed))) take(make(attr, primary(summed)));
    f.members = members;
    if (summed != kNone) f.sum = rows ? viewed(summed, kernel) : as(summed, f.pd.dst_desc());
    if (f.sum >= 0 && !may_overwrite(f.sum, g, members, sources)) return false;
    for (const auto& [arg, v] : seconds) {
      const Md want = f.pd.query_md(dnnl::query::exec_arg_md, arg);
      const Shape s{want.get_dims(), want.get_data_type()};
      const int at = s.dims == shape(v).dims ? as(v, want) : viewed(v, s);
      if (f.sum >= 0 && slot(at).place == slot(f.sum).place) return false;
      f.args.emplace_back(arg, at);
    }
    return true;
  }

  // layout_of_second is that of a full second operand: the result's.
  static Md layout_of_second(const Shape& s, const Shape& kernel, const Md& dst) { return s.dims == kernel.dims && is_blocked(dst) ? dst : any(s); }

  // finish emits the step of a fused kernel whose result is the value of g's last
  // fused member, and what is left of g.
  template <class Pd>
  void finish(const Group& g, Fused<Pd> f, std::vector<std::pair<int, int>> args, int over = -1) {
    const int64_t v = g[f.members - 1];
    const Md md = f.pd.dst_desc();
    const int target = f.sum >= 0 ? f.sum : over;
    const bool rows = md.get_dims() != shape(v).dims;
    const int place = target >= 0 ? slot(target).place : add_place(Place::kScratch, -1, md);
    const int dst = add_slot(rows ? kNone : v, md, place);
    if (rows) add_slot(v, plain(shape(v)), place);
    args.emplace_back(DNNL_ARG_DST, dst);
    args.insert(args.end(), f.args.begin(), f.args.end());
    add_step(f.pd, std::move(args), what(g, f.members));
    rest(g, f.members);
  }

  // borders

  void output(int64_t i) {
    const auto& [v, format] = p_.outputs[static_cast<size_t>(i)];
    const Shape& s = shape(v);
    const bool spatial = s.dims.size() == 4 || s.dims.size() == 5;
    const Md rows = plain(s), channels = last(s);
    const Md& own = primary(v);
    const bool fastest_rows = equivalent(own, rows) || (!equivalent(own, channels) && own.get_inner_nblks() == 0);
    const bool by_channels = spatial && (format == TFX_FORMAT_CHANNELS_LAST || (format == TFX_FORMAT_FASTEST && !fastest_rows));
    const Md want = by_channels ? channels : rows;
    tfx_delegate_shape out{};
    out.dim = static_cast<int32_t>(s.dims.size());
    out.dtype = dtype_of(s.type);
    out.bytes = count(s.dims) * width_of(s.type);
    const Dims strides = want.get_strides();
    std::copy(s.dims.begin(), s.dims.end(), out.sizes);
    std::copy(strides.begin(), strides.end(), out.strides);
    made_->shapes.push_back(out);
    if (p_.is_node(v)) {
      for (int at : value(v).slots) {
        Place& p = place_of(at);
        if (p.kind != Place::kScratch || !equivalent(slot(at).md, want)) continue;
        p.kind = Place::kOutput;
        p.index = i;
        return;
      }
    }
    reorder_step(first(v), add_slot(kNone, want, add_place(Place::kOutput, i, want)), v);
  }

  std::vector<std::pair<Md, Md>> spatial_layouts(int64_t x, int64_t y);
  template <class Make>
  std::pair<Md, Md> best(const std::vector<std::pair<Md, Md>>& layouts, Make make);
  template <class Make>
  void convolve(const Group& g, const Md& weight, const Md& bias, Make make);

  void emit(const Group& g);
  void convolution(const Group& g);
  void transposed(const Group& g);
  void linear(const Group& g);
  void matmul(const Group& g);
  void pool(const Group& g);
  void binary(const Group& g);
  void eltwise(const Group& g);
  void concat(const Group& g);
  void softmax(const Group& g);
  void layer_norm(const Group& g);
  void reshape(const Group& g);
  void permute(const Group& g);

  const Program& p_;
  std::vector<Shape> shapes_;
  Constants& constants_;
  const int64_t layouts_;
  std::unique_ptr<Class> made_;
  std::vector<Value> values_;
};

}  // namespace tfxd
