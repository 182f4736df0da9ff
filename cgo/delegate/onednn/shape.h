// Shapes: the sizes and dtype of every value of a program, from those of its
// inputs and constants. Whatever does not go together is refused here, with what
// was expected, so that no kernel sees it.
#pragma once

#include "layout.h"
#include "program.h"

namespace tfxd {

class Shapes {
 public:
  Shapes(const Program& p, const std::vector<Shape>& inputs, const std::vector<Shape>& constants) : p_(p) {
    all_ = inputs;
    all_.insert(all_.end(), constants.begin(), constants.end());
  }

  std::vector<Shape> infer() {
    for (size_t i = 0; i < p_.nodes.size(); i++) {
      at_ = p_.first_node() + static_cast<int64_t>(i);
      Shape s = of(p_.nodes[i]);
      for (int64_t d : s.dims) {
        if (d < 1) fail(TFX_DELEGATE_NOT_IMPLEMENTED, where(), ": expected elements in its value, got sizes ", s.dims);
      }
      if (s.dims.size() > TFX_DELEGATE_MAX_DIMS) fail(TFX_DELEGATE_NOT_IMPLEMENTED, where(), ": expected ", TFX_DELEGATE_MAX_DIMS, " dimensions at most, got ", s.dims);
      count(s.dims);
      all_.push_back(std::move(s));
    }
    return std::move(all_);
  }

 private:
  std::string where() const { return p_.call(at_); }

  const Shape& get(int64_t v) const { return all_[static_cast<size_t>(v)]; }

  void expect(const char* what, const Dims& want, int64_t v) const {
    if (v != kNone && get(v).dims != want) fail(TFX_DELEGATE_RUNTIME, where(), ": ", what, ": expected sizes ", want, ", got ", get(v).dims);
  }

  // spatial checks that x is a batch with n spatial sizes.
  const Dims& spatial(const Node& node, size_t n) const {
    const Dims& x = get(node.in[0]).dims;
    if (x.size() != n + 2) fail(TFX_DELEGATE_NOT_IMPLEMENTED, where(), ": expected a batch, channels and ", n, " spatial sizes, got ", x);
    return x;
  }

  int64_t axis(int64_t a, size_t n) const {
    const int64_t dims = static_cast<int64_t>(n), from = a < 0 ? a + dims : a;
    if (from < 0 || from >= dims) fail(TFX_DELEGATE_RUNTIME, where(), ": expected a dimension of ", n, ", got ", a);
    return from;
  }

  Shape of(const Node& n) const {
    for (int64_t v : n.in) {
      if (v != kNone && get(v).type != get(n.in[0]).type) fail(TFX_DELEGATE_TYPE, where(), ": expected operands of one dtype");
    }
    Shape out = get(n.in[0]);
    switch (n.op) {
      case TFX_NODE_CONVOLUTION: out.dims = convolution(n); break;
      case TFX_NODE_TRANSPOSED: out.dims = transposed(n); break;
      case TFX_NODE_LINEAR: out.dims = linear(n); break;
      case TFX_NODE_POOL: out.dims = pool(n); break;
      case TFX_NODE_ADAPTIVE_POOL: out.dims = adaptive(n); break;
      case TFX_NODE_BINARY: out.dims = broadcast(get(n.in[0]).dims, get(n.in[1]).dims); break;
      case TFX_NODE_FLATTEN: out.dims = flatten(n); break;
      case TFX_NODE_RESHAPE: out.dims = reshape(n); break;
      case TFX_NODE_CONCAT: out.dims = concat(n); break;
      case TFX_NODE_MATMUL: out.dims = matmul(n); break;
      case TFX_NODE_PERMUTE: out.dims = permute(n); break;
      case TFX_NODE_SOFTMAX: axis(n.axis, out.dims.size()); break;
      case TFX_NODE_LAYER_NORM: {
        if (out.dims.empty()) fail(TFX_DELEGATE_RUNTIME, where(), ": expected a last dimension, got a scalar");
        const Dims last{out.dims.back()};
        expect("weight", last, n.in[1]);
        expect("bias", last, n.in[2]);
        break;
      }
    }
    return out;
  }

  // padding refuses one in which a whole window fits. It is of no use, and makes kernels
  // whose code is made for each place at the border take forever to make.
  void padding(const Node& n, int64_t size, int64_t window) const {
    if (size >= window) fail(TFX_DELEGATE_NOT_IMPLEMENTED, where(), ": expected a padding of less than the kernel's ", window, ", got ", n.before, " and ", n.after);
  }

  Dims convolution(const Node& n) const {
    const size_t k = n.stride.size();
    const Dims &x = spatial(n, k), &w = get(n.in[1]).dims;
    if (w.size() != k + 2) fail(TFX_DELEGATE_RUNTIME, where(), ": weight: expected ", k + 2, " dimensions, got ", w);
    if (x[1] != w[1] * n.groups) fail(TFX_DELEGATE_RUNTIME, where(), ": expected ", w[1] * n.groups, " channels, got ", x);
    if (w[0] % n.groups != 0) fail(TFX_DELEGATE_RUNTIME, where(), ": weight: expected a multiple of ", n.groups, " channels, got ", w);
    expect("bias", {w[0]}, n.in[2]);
    Dims out{x[0], w[0]};
    for (size_t i = 0; i < k; i++) {
      const int64_t window = n.dilation[i] * (w[i + 2] - 1) + 1, room = x[i + 2] + n.before[i] + n.after[i];
      padding(n, std::max(n.before[i], n.after[i]), window);
      if (room < window) fail(TFX_DELEGATE_RUNTIME, where(), ": expected ", window, " elements under the kernel at least, got ", room, " of ", x);
      out.push_back((room - window) / n.stride[i] + 1);
    }
    return out;
  }

  Dims transposed(const Node& n) const {
    const size_t k = n.stride.size();
    const Dims &x = spatial(n, k), &w = get(n.in[1]).dims;
    if (w.size() != k + 2) fail(TFX_DELEGATE_RUNTIME, where(), ": weight: expected ", k + 2, " dimensions, got ", w);
    if (x[1] != w[0]) fail(TFX_DELEGATE_RUNTIME, where(), ": expected ", w[0], " channels, got ", x);
    if (w[0] % n.groups != 0) fail(TFX_DELEGATE_RUNTIME, where(), ": weight: expected a multiple of ", n.groups, " channels, got ", w);
    expect("bias", {w[1] * n.groups}, n.in[2]);
    Dims out{x[0], w[1] * n.groups};
    for (size_t i = 0; i < k; i++) {
      if (n.extra[i] >= std::max(n.stride[i], n.dilation[i])) {
        fail(TFX_DELEGATE_RUNTIME, where(), ": output padding: expected less than stride or dilation, got ", n.extra);
      }
      padding(n, n.before[i], n.dilation[i] * (w[i + 2] - 1) + 1);
      out.push_back((x[i + 2] - 1) * n.stride[i] - 2 * n.before[i] + n.dilation[i] * (w[i + 2] - 1) + n.extra[i] + 1);
    }
    return out;
  }

  Dims linear(const Node& n) const {
    Dims out = get(n.in[0]).dims;
    const Dims& w = get(n.in[1]).dims;
    if (w.size() != 2) fail(TFX_DELEGATE_RUNTIME, where(), ": weight: expected two dimensions, got ", w);
    if (out.empty() || out.back() != w[1]) fail(TFX_DELEGATE_RUNTIME, where(), ": expected a last size of ", w[1], ", got ", out);
    expect("bias", {w[0]}, n.in[2]);
    out.back() = w[0];
    return out;
  }

  Dims matmul(const Node& n) const {
    const Dims &a = get(n.in[0]).dims, &b = get(n.in[1]).dims;
    if (a.size() < 2 || a.size() != b.size()) fail(TFX_DELEGATE_NOT_IMPLEMENTED, where(), ": expected two matrices or batches of as many dimensions, got ", a, " and ", b);
    const size_t k = a.size() - 2;
    if (a[k + 1] != b[k]) fail(TFX_DELEGATE_RUNTIME, where(), ": expected ", a[k + 1], " rows, got ", b);
    expect("bias", {b[k + 1]}, n.in[2]);
    Dims out = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
    out.push_back(a[k]);
    out.push_back(b[k + 1]);
    return out;
  }

  Dims pool(const Node& n) const {
    const size_t k = n.kernel.size();
    const Dims& x = spatial(n, k);
    Dims out{x[0], x[1]};
    for (size_t i = 0; i < k; i++) {
      if (n.before[i] * 2 > n.kernel[i]) fail(TFX_DELEGATE_RUNTIME, where(), ": expected a padding of half the kernel at most, got ", n.before);
      const int64_t window = n.dilation[i] * (n.kernel[i] - 1) + 1, room = x[i + 2] + 2 * n.before[i] - window;
      if (room < 0) fail(TFX_DELEGATE_RUNTIME, where(), ": expected ", window, " elements under the window at least, got ", x);
      int64_t size = (room + (n.ceil ? n.stride[i] - 1 : 0)) / n.stride[i] + 1;
      // the last window begins inside the input or the padding before it
      if (n.ceil && (size - 1) * n.stride[i] >= x[i + 2] + n.before[i]) size--;
      out.push_back(size);
    }
    return out;
  }

  Dims adaptive(const Node& n) const {
    const Dims& x = spatial(n, n.sizes.size());
    for (size_t i = 0; i < n.sizes.size(); i++) {
      if (x[i + 2] % n.sizes[i] != 0) fail(TFX_DELEGATE_NOT_IMPLEMENTED, where(), ": expected sizes that divide ", x, ", got ", n.sizes);
    }
    Dims out{x[0], x[1]};
    out.insert(out.end(), n.sizes.begin(), n.sizes.end());
    return out;
  }

  Dims broadcast(const Dims& a, const Dims& b) const {
    Dims out(std::max(a.size(), b.size()), 1);
    for (size_t i = 1; i <= out.size(); i++) {
      const int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
      if (x != y && x != 1 && y != 1) fail(TFX_DELEGATE_RUNTIME, where(), ": expected sizes that broadcast, got ", a, " and ", b);
      out[out.size() - i] = x == 1 ? y : x;
    }
    return out;
  }

  Dims flatten(const Node& n) const {
    const Dims& x = get(n.in[0]).dims;
    const int64_t first = axis(n.axis, x.size()), last = axis(n.last, x.size());
    if (first > last) fail(TFX_DELEGATE_RUNTIME, where(), ": expected the first dimension before the last, got ", n.axis, " and ", n.last);
    Dims out(x.begin(), x.begin() + first);
    out.push_back(count(Dims(x.begin() + first, x.begin() + last + 1)));
    out.insert(out.end(), x.begin() + last + 1, x.end());
    return out;
  }

  Dims reshape(const Node& n) const {
    const Dims& x = get(n.in[0]).dims;
    Dims out = n.sizes;
    int64_t known = 1;
    int64_t* open = nullptr;
    for (int64_t& d : out) {
      if (d == -1 && open != nullptr) fail(TFX_DELEGATE_RUNTIME, where(), ": expected one size of -1, got ", n.sizes);
      if (d == -1) open = &d;
      else if (__builtin_mul_overflow(known, d, &known)) known = 0;
    }
    const int64_t all = count(x);
    if (open != nullptr && known > 0 && all % known == 0) *open = all / known;
    else if (open != nullptr || known != all) fail(TFX_DELEGATE_RUNTIME, where(), ": expected sizes of ", all, " elements, got ", n.sizes);
    return out;
  }

  Dims permute(const Node& n) const {
    const Dims& x = get(n.in[0]).dims;
    Dims sorted = n.sizes, each(x.size()), out;
    std::sort(sorted.begin(), sorted.end());
    std::iota(each.begin(), each.end(), 0);
    if (sorted != each) fail(TFX_DELEGATE_RUNTIME, where(), ": expected each dimension of ", x, " once, got ", n.sizes);
    for (int64_t d : n.sizes) out.push_back(x[static_cast<size_t>(d)]);
    return out;
  }

  Dims concat(const Node& n) const {
    Dims out = get(n.in[0]).dims;
    const size_t along = static_cast<size_t>(axis(n.axis, out.size()));
    for (size_t i = 1; i < n.in.size(); i++) {
      Dims other = get(n.in[i]).dims;
      if (other.size() != out.size()) fail(TFX_DELEGATE_NOT_IMPLEMENTED, where(), ": expected as many dimensions as ", out, ", got ", other);
      const int64_t more = std::exchange(other[along], out[along]);
      if (other != out) fail(TFX_DELEGATE_RUNTIME, where(), ": expected sizes ", out, " but for dimension ", along, ", got ", get(n.in[i]).dims);
      out[along] += more;
    }
    return out;
  }

  const Program& p_;
  std::vector<Shape> all_;
  int64_t at_ = 0;
};

}  // namespace tfxd
