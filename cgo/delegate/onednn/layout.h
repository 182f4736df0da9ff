// Layouts: how the elements of a value lie in memory, as oneDNN's descriptors
// say it. Two descriptors of the same memory need not be equal (a dimension of
// size 1 has any stride, 16 channels of one pixel are blocked and plain): they
// are compared by what they mean.
#pragma once

#include <algorithm>
#include <numeric>

#include "error.h"

namespace tfxd {

using dnnl::memory;
using Md = dnnl::memory::desc;
using Type = dnnl::memory::data_type;

// A Shape is what a value is, without its layout.
struct Shape {
  Dims dims;
  Type type = Type::f32;
};

// The numbers of c10::ScalarType that are served.
inline constexpr int32_t kFloat = 6, kBFloat16 = 15;

inline Type type_of(int32_t dtype, const char* what, uint64_t i) {
  if (dtype == kFloat) return Type::f32;
  if (dtype == kBFloat16) return Type::bf16;
  fail(TFX_DELEGATE_NOT_IMPLEMENTED, what, " ", i, ": expected float32 or bfloat16, got dtype number ", dtype);
}

inline int32_t dtype_of(Type t) { return t == Type::bf16 ? kBFloat16 : kFloat; }
inline int64_t width_of(Type t) { return t == Type::bf16 ? 2 : 4; }

// count multiplies sizes, bounded so that no size computed from it overflows.
inline int64_t count(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) {
    if (__builtin_mul_overflow(n, d, &n) || n > (int64_t{1} << 40)) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "sizes ", dims, ": expected 2^40 elements at most");
  }
  return n;
}

// strides_in gives the strides of sizes whose dimensions lie in the given order,
// the slowest first.
inline Dims strides_in(const Dims& dims, const std::vector<int>& order) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<int64_t>(dims[order[i]], 1);
  }
  return strides;
}

inline Dims row_major(const Dims& dims) {
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  return strides_in(dims, order);
}

// channels_last has dimension 1 fastest: N, D, C.
inline Dims channels_last(const Dims& dims) {
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return strides_in(dims, order);
}

inline Md plain(const Shape& s) { return Md(s.dims, s.type, row_major(s.dims)); }
inline Md last(const Shape& s) { return Md(s.dims, s.type, channels_last(s.dims)); }
inline Md any(const Shape& s) { return Md(s.dims, s.type, memory::format_tag::any); }

// block is how many channels lie together in oneDNN's blocked layouts: a register.
inline int64_t block() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core ? 16 : 8; }

inline Md blocked(const Shape& s) {
  using Tag = memory::format_tag;
  static const Tag by8[] = {Tag::aBc8b, Tag::aBcd8b, Tag::aBcde8b}, by16[] = {Tag::aBc16b, Tag::aBcd16b, Tag::aBcde16b};
  return Md(s.dims, s.type, (block() == 16 ? by16 : by8)[s.dims.size() - 3]);
}

inline bool same_strides(const Dims& dims, const Dims& a, const Dims& b) {
  for (size_t i = 0; i < dims.size(); i++) {
    if (dims[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

// given is the descriptor of a caller's tensor. Strides of dimensions of size 1
// mean nothing and are replaced, so that kernels which look at them see one of the
// layouts they know.
inline Md given(const Shape& s, const Dims& strides) {
  const Dims rows = row_major(s.dims), channels = channels_last(s.dims);
  if (same_strides(s.dims, strides, rows)) return Md(s.dims, s.type, rows);
  if (same_strides(s.dims, strides, channels)) return Md(s.dims, s.type, channels);
  for (size_t i = 0; i < s.dims.size(); i++) {
    if (strides[i] < 1 && s.dims[i] != 1) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "strides ", strides, ": expected each element at its own place");
  }
  Md md(s.dims, s.type, strides, /*allow_empty=*/true);
  if (md.get(true) == nullptr) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "strides ", strides, ": expected dimensions that lie one inside the other");
  return md;
}

// A Run is a stretch of memory along which one dimension goes.
struct Run {
  int64_t stride, size;
  int dim;
};

// runs_of lists the runs of a blocked descriptor, the slowest first, without those of
// size 1, neighbours of one dimension merged.
inline std::vector<Run> runs_of(const Md& md) {
  const Dims padded = md.get_padded_dims(), strides = md.get_strides(), blocks = md.get_inner_blks(), which = md.get_inner_idxs();
  std::vector<Run> runs;
  Dims outer = padded;
  int64_t step = 1;
  for (size_t i = blocks.size(); i-- > 0;) {
    runs.push_back({step, blocks[i], static_cast<int>(which[i])});
    outer[which[i]] /= blocks[i];
    step *= blocks[i];
  }
  for (size_t d = 0; d < outer.size(); d++) runs.push_back({strides[d], outer[d], static_cast<int>(d)});
  std::erase_if(runs, [](const Run& r) { return r.size == 1; });
  std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.stride > b.stride; });
  std::vector<Run> merged;
  for (const Run& r : runs) {
    if (!merged.empty() && merged.back().dim == r.dim && merged.back().stride == r.stride * r.size) {
      merged.back() = {r.stride, merged.back().size * r.size, r.dim};
    } else {
      merged.push_back(r);
    }
  }
  return merged;
}

inline bool is_blocked(const Md& md) { return md.get_format_kind() == memory::format_kind::blocked; }

// equivalent reports whether the same bytes mean the same elements under both.
inline bool equivalent(const Md& a, const Md& b) {
  if (a == b) return true;
  if (!is_blocked(a) || !is_blocked(b) || a.get_dims() != b.get_dims() || a.get_data_type() != b.get_data_type()) return false;
  if (a.get_padded_dims() != a.get_dims() || b.get_padded_dims() != b.get_dims()) return false;
  const auto x = runs_of(a), y = runs_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Run& r, const Run& s) { return r.stride == s.stride && r.size == s.size && r.dim == s.dim; });
}

// text names a layout as oneDNN does: letters of the dimensions, slowest first,
// blocked ones in capitals and their blocks behind.
inline std::string text(const Md& md) {
  if (!is_blocked(md)) return "opaque";
  const Dims strides = md.get_strides(), blocks = md.get_inner_blks(), which = md.get_inner_idxs();
  std::vector<int> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return strides[a] > strides[b]; });
  std::string out;
  for (int d : order) {
    const bool in_blocks = std::find(which.begin(), which.end(), d) != which.end();
    out += static_cast<char>((in_blocks ? 'A' : 'a') + d);
  }
  for (size_t i = 0; i < blocks.size(); i++) out += std::to_string(blocks[i]) + static_cast<char>('a' + which[i]);
  return out;
}

}  // namespace tfxd
