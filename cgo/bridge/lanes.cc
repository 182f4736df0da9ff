// The loops of lanes.h for one instruction set: CPU_CAPABILITY is its name, as in
// libtorch's own kernels, whose expressions these are: for vectors, and for the
// elements at the end that fill none.
#include <ATen/cpu/vec/vec.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanes.h"
#include "lanesexp.h"

namespace tfx {
namespace {

using at::vec::Vectorized;

template <class T>
struct VectorOps {
  using V = Vectorized<T>;
  // With a factor of one, as libtorch writes it: of two NaNs the second comes out.
  static V Add(const V& a, const V& b) { return at::vec::fmadd(b, V(T(1)), a); }
  static V Sub(const V& a, const V& b) { return at::vec::fmadd(b, V(T(-1)), a); }
  static V Mul(const V& a, const V& b) { return a * b; }
  static V Div(const V& a, const V& b) { return a / b; }
  static V Maximum(const V& a, const V& b) { return at::vec::maximum(a, b); }
  static V Minimum(const V& a, const V& b) { return at::vec::minimum(a, b); }
  static V ClampMin(const V& a, const V& b) { return at::vec::clamp_min(a, b); }
  static V ClampMax(const V& a, const V& b) { return at::vec::clamp_max(a, b); }
  static V Neg(const V& a) { return a.neg(); }
  static V Abs(const V& a) { return a.abs(); }
  static V Rsqrt(const V& a) { return a.rsqrt(); }
  static V Reciprocal(const V& a) { return a.reciprocal(); }
  // Libtorch writes 0 - a, and its compiler makes a change of sign of that.
  static V Sigmoid(const V& a) { return (V(T(1)) + exponential(a.neg())).reciprocal(); }
  static V Silu(const V& a) { return a / (V(T(1)) + exponential(a.neg())); }
};

// What differs for the elements that do not fill two vectors, of which libtorch
// does one at a time: of exponentials the C library's are taken.
template <class T>
struct OddOps : VectorOps<T> {
  using V = Vectorized<T>;
  template <class F>
  static V each(const V& a, F&& f) {
    T x[V::size()];
    a.store(x);
    for (T& e : x) e = f(e);
    return V::loadu(x);
  }
  static V Sigmoid(const V& a) {
    return each(a, [](T x) { return T(1) / (T(1) + std::exp(-x)); });
  }
  static V Silu(const V& a) {
    return each(a, [](T x) { return x / (T(1) + std::exp(-x)); });
  }
};

// And where they do not fill two vectors of AVX2, which is as far as kernels without
// exponentials go: which NaN comes out, and which of two zeros.
template <class T>
struct TailOps : OddOps<T> {
  using V = Vectorized<T>;
  static V quiet(const V& x) { return V::blendv(x, V(std::numeric_limits<T>::quiet_NaN()), x.isnan()); }
  static V Maximum(const V& a, const V& b) { return quiet(at::vec::maximum(b, a)); }
  static V Minimum(const V& a, const V& b) { return quiet(at::vec::minimum(b, a)); }
};

// A tile does the code for as many vectors as there are K, or for the elements that
// are left of one. Its accumulators are to stay in registers from one operation to
// the next: none of them is ever reached by an index that the compiler does not
// know.
template <class T, class O, bool kPart, size_t... K>
inline __attribute__((always_inline)) void tile(const LaneOp* code, const LaneOp* end, char* const* mem, int64_t at, int64_t left, std::index_sequence<K...>) {
  using V = Vectorized<T>;
#if defined(CPU_CAPABILITY_AVX512)
  constexpr bool kHolds = true;  // 32 registers
#else
  constexpr bool kHolds = false;
#endif
  V acc[] = {(static_cast<void>(K), V())...};  // said one by one: a loop would index them
  [[maybe_unused]] V held[] = {(static_cast<void>(K), V())...};
  for (; code != end; code++) {
    T* const p = reinterpret_cast<T*>(mem[code->at]) + at;
    const auto load = [&](size_t k) __attribute__((always_inline)) { return kPart ? V::loadu(p, left) : V::loadu(p + k * V::size()); };
    switch (code->code) {
      case Lane::Load: ((acc[K] = load(K)), ...); break;
      case Lane::Splat: ((acc[K] = V(static_cast<T>(code->number))), ...); break;
      case Lane::Store: ((kPart ? acc[K].store(p, left) : acc[K].store(p + K * V::size())), ...); break;
      case Lane::Hold:
        if constexpr (kHolds) ((held[K] = load(K)), ...);
        break;
#define BINARY(op)                                                                         \
  case Lane::op: ((acc[K] = O::op(acc[K], load(K))), ...); break;                          \
  case Lane::op##Number: {                                                                 \
    const V number(static_cast<T>(code->number));                                          \
    ((acc[K] = O::op(acc[K], number)), ...);                                               \
    break;                                                                                 \
  }                                                                                        \
  case Lane::op##Self: ((acc[K] = O::op(acc[K], acc[K])), ...); break;                     \
  case Lane::op##Left: ((acc[K] = O::op(load(K), acc[K])), ...); break;                    \
  case Lane::op##Held: ((acc[K] = O::op(acc[K], kHolds ? held[K] : load(K))), ...); break;
        TFX_LANE_BINARY(BINARY)
#undef BINARY
#define UNARY(op) \
  case Lane::op: ((acc[K] = O::op(acc[K])), ...); break;
        TFX_LANE_UNARY(UNARY)
#undef UNARY
    }
  }
}

template <class T>
void loop(const LaneOp* code, int64_t ncode, char* const* mem, int64_t count) {
  constexpr int64_t kVector = Vectorized<T>::size();
  constexpr int64_t kPair = 64 / sizeof(T);  // two vectors of AVX2
  const LaneOp* const end = code + ncode;
  const int64_t even = count / (2 * kVector) * (2 * kVector), whole = count / kPair * kPair;
  int64_t i = 0;
  const auto tiles = [&](auto sequence) __attribute__((always_inline)) {
    constexpr int64_t kWidth = static_cast<int64_t>(decltype(sequence)::size()) * kVector;
    for (; i + kWidth <= even; i += kWidth) tile<T, VectorOps<T>, false>(code, end, mem, i, 0, sequence);
  };
  tiles(std::make_index_sequence<8>());
  tiles(std::make_index_sequence<4>());
  tiles(std::make_index_sequence<2>());
  for (; i + kVector <= whole; i += kVector) tile<T, OddOps<T>, false>(code, end, mem, i, 0, std::index_sequence<0>());
  for (; i < count; i += kVector) tile<T, TailOps<T>, true>(code, end, mem, i, std::min(count - i, kVector), std::index_sequence<0>());
}

}  // namespace

#define TFX_LANES_OF(name) TFX_LANES_JOIN(name)
#define TFX_LANES_JOIN(name) lanes_##name
extern const Lanes TFX_LANES_OF(CPU_CAPABILITY) = {loop<float>, loop<double>};

}  // namespace tfx
