// Programs: the words of a region, read into nodes. Nothing is believed: counts
// are bounded before they are used, and values are read after they are made.
#pragma once

#include <bit>

#include "error.h"

namespace tfxd {

inline constexpr int64_t kNone = -1;

// A Node is one of a program; which of the fields count depends on op.
struct Node {
  int32_t op = 0;
  int32_t kind = 0;       // tfx_pool, tfx_binary or tfx_eltwise
  std::vector<int64_t> in;  // values, kNone where an optional one is not there
  Dims kernel, stride, before, after, dilation, extra, sizes;
  int64_t groups = 1;
  int64_t axis = 0, last = 0;
  bool ceil = false;
  float alpha = 0, beta = 0;  // of LAYER_NORM alpha is epsilon
};

struct Output {
  int64_t value;
  int64_t format;
};

inline const char* name_of(int32_t op) {
  static const char* names[] = {"?",       "convolution", "transposed convolution", "linear", "pool",    "adaptive pool", "binary", "eltwise",
                                "flatten", "reshape",     "concat",                 "matmul", "permute", "softmax",       "layer norm"};
  return names[op >= 1 && op <= TFX_NODE_LAYER_NORM ? op : 0];
}

struct Program {
  int64_t layouts = 0, ninputs = 0, nconstants = 0;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
  std::vector<int32_t> uses;  // of each value, outputs among them

  int64_t first_node() const { return ninputs + nconstants; }
  int64_t nvalues() const { return first_node() + static_cast<int64_t>(nodes.size()); }
  bool is_input(int64_t v) const { return v >= 0 && v < ninputs; }
  bool is_constant(int64_t v) const { return v >= ninputs && v < first_node(); }
  bool is_node(int64_t v) const { return v >= first_node(); }
  const Node& node(int64_t v) const { return nodes[static_cast<size_t>(v - first_node())]; }

  // call is a node's name for messages.
  std::string call(int64_t v) const { return std::string(name_of(node(v).op)) + " " + std::to_string(v - first_node()); }
};

class ProgramReader {
 public:
  ProgramReader(const int64_t* words, uint64_t n) : at_(words), end_(words + n), begin_(words) {}

  Program read() {
    Program p;
    if (next() != TFX_REGION_MAGIC) fail(TFX_DELEGATE_VALUE, "program: expected the words of a region, got others");
    const int64_t version = next();
    if (version != TFX_REGION_VERSION) fail(TFX_DELEGATE_VALUE, "program: expected version ", TFX_REGION_VERSION, ", got ", version);
    p.layouts = within("layouts", TFX_LAYOUTS_MEASURED, TFX_LAYOUTS_BLOCKED);
    p.ninputs = within("number of inputs", 1, TFX_REGION_MAX_OPERANDS);
    p.nconstants = within("number of constants", 0, TFX_REGION_MAX_NODES);
    const int64_t nodes = within("number of nodes", 0, TFX_REGION_MAX_NODES);
    const int64_t outputs = within("number of outputs", 1, TFX_REGION_MAX_OPERANDS);
    program_ = &p;
    p.uses.assign(static_cast<size_t>(p.first_node()), 0);
    for (int64_t i = 0; i < nodes; i++) {
      node_ = i;
      p.nodes.push_back(read_node());
      p.uses.push_back(0);
    }
    node_ = -1;
    for (int64_t i = 0; i < outputs; i++) {
      const int64_t v = value();
      p.outputs.push_back({v, within("format", TFX_FORMAT_CONTIGUOUS, TFX_FORMAT_FASTEST)});
    }
    if (at_ != end_) fail(TFX_DELEGATE_VALUE, "program: expected its end after ", at_ - begin_, " words, got ", end_ - at_, " more");
    for (size_t v = static_cast<size_t>(p.first_node()); v < p.uses.size(); v++) {
      if (p.uses[v] == 0) fail(TFX_DELEGATE_VALUE, p.call(static_cast<int64_t>(v)), ": expected a reader of its value, got none");
    }
    return p;
  }

 private:
  // kGeometry bounds strides, paddings and kernels, kSize a size of a reshape: what
  // is computed from both stays below 2^63.
  static constexpr int64_t kGeometry = TFX_REGION_MAX_GEOMETRY, kSize = int64_t{1} << 40;

  std::string where() const { return node_ < 0 ? "program" : "node " + std::to_string(node_); }

  int64_t next() {
    if (at_ == end_) fail(TFX_DELEGATE_VALUE, where(), ": expected more words, got the end after ", end_ - begin_);
    return *at_++;
  }

  int64_t within(const char* what, int64_t least, int64_t most) {
    const int64_t v = next();
    if (v < least || v > most) fail(TFX_DELEGATE_VALUE, where(), ": ", what, ": expected ", least, " to ", most, ", got ", v);
    return v;
  }

  Dims list(const char* what, int64_t n, int64_t least, int64_t most = kGeometry) {
    Dims out;
    for (int64_t i = 0; i < n; i++) out.push_back(within(what, least, most));
    return out;
  }

  float number() { return static_cast<float>(std::bit_cast<double>(next())); }

  // value reads the number of one that is there already.
  int64_t value(bool optional = false) {
    const int64_t v = next();
    if (v == kNone && optional) return v;
    if (v < 0 || v >= static_cast<int64_t>(program_->uses.size())) {
      fail(TFX_DELEGATE_VALUE, where(), ": expected a value before it, got ", v, " of ", program_->uses.size());
    }
    program_->uses[static_cast<size_t>(v)]++;
    return v;
  }

  int64_t computed() {
    const int64_t v = value();
    if (program_->is_constant(v)) fail(TFX_DELEGATE_VALUE, where(), ": expected a value that is computed, got constant ", v - program_->ninputs);
    return v;
  }

  int64_t constant(bool optional) {
    const int64_t v = value(optional);
    if (v != kNone && !program_->is_constant(v)) fail(TFX_DELEGATE_VALUE, where(), ": expected a constant, got value ", v);
    return v;
  }

  Node read_node() {
    Node n;
    n.op = static_cast<int32_t>(within("opcode", TFX_NODE_CONVOLUTION, TFX_NODE_LAYER_NORM));
    const int64_t length = within("length", 1, end_ - at_);
    const int64_t* stop = at_ + length;
    const int64_t* rest = std::exchange(end_, stop);
    switch (n.op) {
      case TFX_NODE_CONVOLUTION:
      case TFX_NODE_TRANSPOSED: {
        n.in = {computed()};
        n.in.push_back(constant(false));
        n.in.push_back(constant(true));
        const int64_t dims = within("spatial dimensions", 1, 3);
        n.stride = list("stride", dims, 1);
        n.before = list("padding", dims, 0);
        (n.op == TFX_NODE_CONVOLUTION ? n.after : n.extra) = list("padding", dims, 0);
        n.dilation = list("dilation", dims, 1);
        n.groups = within("groups", 1, kGeometry);
        break;
      }
      case TFX_NODE_LINEAR:
        n.in = {computed()};
        n.in.push_back(constant(false));
        n.in.push_back(constant(true));
        break;
      case TFX_NODE_MATMUL:
        n.in = {value()};
        n.in.push_back(value());
        n.in.push_back(constant(true));
        break;
      case TFX_NODE_POOL: {
        n.in = {computed()};
        n.kind = static_cast<int32_t>(within("kind", TFX_POOL_MAX, TFX_POOL_AVERAGE_WITHOUT_PADDING));
        const int64_t dims = within("spatial dimensions", 1, 3);
        n.kernel = list("kernel", dims, 1);
        n.stride = list("stride", dims, 1);
        n.before = list("padding", dims, 0);
        n.dilation = list("dilation", dims, 1);
        n.ceil = within("ceil mode", 0, 1) != 0;
        break;
      }
      case TFX_NODE_ADAPTIVE_POOL:
        n.in = {computed()};
        n.kind = static_cast<int32_t>(within("kind", TFX_POOL_MAX, TFX_POOL_AVERAGE_WITHOUT_PADDING));
        n.sizes = list("size", within("spatial dimensions", 1, 3), 1);
        break;
      case TFX_NODE_BINARY:
        n.kind = static_cast<int32_t>(within("kind", TFX_BINARY_ADD, TFX_BINARY_MIN));
        n.in = {value()};
        n.in.push_back(value());
        if (program_->is_constant(n.in[0]) && program_->is_constant(n.in[1])) fail(TFX_DELEGATE_VALUE, where(), ": expected a value that is computed, got two constants");
        break;
      case TFX_NODE_ELTWISE:
        n.kind = static_cast<int32_t>(within("kind", TFX_ELTWISE_RELU, TFX_ELTWISE_MISH));
        n.in = {computed()};
        n.alpha = number();
        n.beta = number();
        break;
      case TFX_NODE_FLATTEN:
        n.in = {computed()};
        n.axis = within("dimension", -TFX_DELEGATE_MAX_DIMS, TFX_DELEGATE_MAX_DIMS - 1);
        n.last = within("dimension", -TFX_DELEGATE_MAX_DIMS, TFX_DELEGATE_MAX_DIMS - 1);
        break;
      case TFX_NODE_RESHAPE:
        n.in = {computed()};
        n.sizes = list("size", within("number of sizes", 1, TFX_DELEGATE_MAX_DIMS), -1, kSize);
        break;
      case TFX_NODE_PERMUTE:
        n.in = {computed()};
        n.sizes = list("dimension", within("number of dimensions", 1, TFX_DELEGATE_MAX_DIMS), 0);
        break;
      case TFX_NODE_CONCAT: {
        n.axis = within("dimension", -TFX_DELEGATE_MAX_DIMS, TFX_DELEGATE_MAX_DIMS - 1);
        const int64_t count = within("number of values", 1, TFX_REGION_MAX_OPERANDS);
        for (int64_t i = 0; i < count; i++) n.in.push_back(computed());
        break;
      }
      case TFX_NODE_SOFTMAX:
        n.in = {computed()};
        n.axis = within("dimension", -TFX_DELEGATE_MAX_DIMS, TFX_DELEGATE_MAX_DIMS - 1);
        break;
      case TFX_NODE_LAYER_NORM:
        n.in = {computed()};
        n.in.push_back(constant(true));
        n.in.push_back(constant(true));
        n.alpha = number();
        break;
    }
    if (at_ != stop) fail(TFX_DELEGATE_VALUE, where(), ": expected ", length - (stop - at_), " words for ", name_of(n.op), ", got ", length);
    end_ = rest;
    return n;
  }

  const int64_t* at_;
  const int64_t* end_;
  const int64_t* begin_;
  Program* program_ = nullptr;
  int64_t node_ = -1;
};

}  // namespace tfxd
