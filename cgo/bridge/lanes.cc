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
#include "lanesnearest.h"

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
  template <size_t... K>
  static inline __attribute__((always_inline)) void Sigmoid(V* a, std::index_sequence<K...> sequence) {
    ((a[K] = a[K].neg()), ...);
    exponentials(a, sequence);
    ((a[K] = (V(T(1)) + a[K]).reciprocal()), ...);
  }
  template <size_t... K>
  static inline __attribute__((always_inline)) void Silu(V* a, std::index_sequence<K...> sequence) {
    V e[] = {a[K].neg()...};
    exponentials(e, sequence);
    ((a[K] = a[K] / (V(T(1)) + e[K])), ...);
  }
};

// What differs for the elements that do not fill two vectors, of which libtorch
// does one at a time: of exponentials the C library's are taken.
template <class T>
struct OddOps : VectorOps<T> {
  using V = Vectorized<T>;
  template <class F>
  static void each(V& a, F&& f) {
    T x[V::size()];
    a.store(x);
    for (T& e : x) e = f(e);
    a = V::loadu(x);
  }
  static void Sigmoid(V* a, std::index_sequence<0>) {
    each(*a, [](T x) { return T(1) / (T(1) + std::exp(-x)); });
  }
  static void Silu(V* a, std::index_sequence<0>) {
    each(*a, [](T x) { return x / (T(1) + std::exp(-x)); });
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

// in_halves does f to one half of the vectors and then to the other: to so many at a time
// that there is always something to do while one waits, and that their values stay in
// registers.
template <size_t kAll, class V, class F>
inline __attribute__((always_inline)) void in_halves(V* all, F&& f) {
  constexpr size_t kHalf = kAll / 2;
  if constexpr (kHalf > 0) f(all, std::make_index_sequence<kHalf>());
  f(all + kHalf, std::make_index_sequence<kAll - kHalf>());
}

// A tile does the code for as many vectors as there are K, or for the elements that
// are left of one. Its accumulators are to stay in registers from one operation to
// the next: none of them is ever reached by an index that the compiler does not
// know.
template <class T, class O, bool kPart, bool kExponentials, size_t... K>
inline __attribute__((always_inline)) void tile(const LaneOp* code, const LaneOp* end, char* const* mem, int64_t at, int64_t left, std::index_sequence<K...>) {
  using V = Vectorized<T>;
#if defined(CPU_CAPABILITY_AVX512)
  constexpr bool kHolds = !kExponentials;  // there are 32 registers
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
#define EXPONENTIAL(op)                                                                                                                               \
  case Lane::op:                                                                                                                                      \
    if constexpr (kExponentials) in_halves<sizeof...(K)>(acc, [](V* half, auto sequence) __attribute__((always_inline)) { O::op(half, sequence); }); \
    break;
        TFX_LANE_EXPONENTIAL(EXPONENTIAL)
#undef EXPONENTIAL
    }
  }
}

template <class T, bool kExponentials>
void loop(const LaneOp* code, const LaneOp* end, char* const* mem, int64_t count) {
  constexpr int64_t kVector = Vectorized<T>::size();
  constexpr int64_t kPair = 64 / sizeof(T);  // two vectors of AVX2
  const int64_t even = count / (2 * kVector) * (2 * kVector), whole = count / kPair * kPair;
  int64_t i = 0;
  const auto tiles = [&](auto sequence) __attribute__((always_inline)) {
    constexpr int64_t kWidth = static_cast<int64_t>(decltype(sequence)::size()) * kVector;
    for (; i + kWidth <= even; i += kWidth) tile<T, VectorOps<T>, false, kExponentials>(code, end, mem, i, 0, sequence);
  };
#if defined(CPU_CAPABILITY_AVX512)
  if constexpr (kExponentials) tiles(std::make_index_sequence<12>());
#endif
  tiles(std::make_index_sequence<8>());
  tiles(std::make_index_sequence<4>());
  tiles(std::make_index_sequence<2>());
  for (; i + kVector <= whole; i += kVector) tile<T, OddOps<T>, false, kExponentials>(code, end, mem, i, 0, std::index_sequence<0>());
  for (; i < count; i += kVector) tile<T, TailOps<T>, true, kExponentials>(code, end, mem, i, std::min(count - i, kVector), std::index_sequence<0>());
}

// loop is that for code with exponentials, whose values take the registers that others
// have to hold memory in, or for code without.
template <class T>
void loop(const LaneOp* code, int64_t ncode, char* const* mem, int64_t count) {
  const LaneOp* const end = code + ncode;
  const bool exponentials = std::any_of(code, end, [](const LaneOp& op) { return op.code >= Lane::Sigmoid; });
  exponentials ? loop<T, true>(code, end, mem, count) : loop<T, false>(code, end, mem, count);
}

}  // namespace

#define TFX_LANES_OF(name) TFX_LANES_JOIN(name)
#define TFX_LANES_JOIN(name) lanes_##name
#if defined(CPU_CAPABILITY_AVX512)
extern const Lanes TFX_LANES_OF(CPU_CAPABILITY) = {loop<float>, loop<double>, nearest<exp_nearest>, nearest<tanh_nearest>};
#else
extern const Lanes TFX_LANES_OF(CPU_CAPABILITY) = {loop<float>, loop<double>, nullptr, nullptr};
#endif

}  // namespace tfx
