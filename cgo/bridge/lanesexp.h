// The exponential of lanes, which is Sleef's of float32 as libtorch's kernels call it
// (Sleef_expf16_u10, Sleef_expf8_u10): the same polynomial in the same order, so that
// it has the same bits, for each of the 2^32 arguments (TestFunctionsOfAllArguments in
// package interpreter compares them). What differs is around it. It is not called, so
// that registers live on; the argument is held to where the result is neither 0 nor
// infinite beyond rounding, instead of choosing the result afterwards; and the power
// of two is applied by one instruction where there is one.
//
// Sleef is distributed under the Boost Software License, Version 1.0.
#pragma once

#include <ATen/cpu/vec/vec.h>

#include <utility>

namespace tfx {
namespace {

// exponentials puts them in the place of as many vectors.
template <class T, size_t... K>
inline __attribute__((always_inline)) void exponentials(at::vec::Vectorized<T>* a, std::index_sequence<K...>) {
  ((a[K] = a[K].exp()), ...);
}

#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)

// The polynomial of exp(s) on [-ln 2 / 2, ln 2 / 2], and ln 2 in two parts.
constexpr float kExp[] = {0.000198527617612853646278381f, 0.00139304355252534151077271f, 0.00833336077630519866943359f,
                          0.0416664853692054748535156f, 0.166666671633720397949219f, 0.5f};
constexpr float kLog2E = 1.442695040888963407359924681001892137f, kLn2High = 0.693145751953125f, kLn2Low = 1.428606765330187045e-06f;

#endif

#if defined(CPU_CAPABILITY_AVX512)

// Several at once, step by step: the processor looks only so far ahead that of one
// after the other too few would be under way at the same time.
template <size_t... K>
inline __attribute__((always_inline)) void exponentials(at::vec::Vectorized<float>* a, std::index_sequence<K...>) {
  const __m512 x[] = {a[K]...};
  __m512 q[] = {_mm512_mul_ps(x[K], _mm512_set1_ps(kLog2E))...};
  ((q[K] = _mm512_roundscale_ps(q[K], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)), ...);
  __m512 s[] = {_mm512_fmadd_ps(q[K], _mm512_set1_ps(-kLn2High), x[K])...};
  ((s[K] = _mm512_fmadd_ps(q[K], _mm512_set1_ps(-kLn2Low), s[K])), ...);
  // It is less than 0.35, but for arguments so large that q alone decides on the result,
  // as it does on NaN.
  constexpr int kLesserMagnitude = 2;
  ((s[K] = _mm512_range_ps(s[K], _mm512_set1_ps(0.36f), kLesserMagnitude)), ...);
  __m512 u[] = {(static_cast<void>(K), _mm512_set1_ps(kExp[0]))...};
  ((u[K] = _mm512_fmadd_ps(u[K], s[K], _mm512_set1_ps(kExp[1]))), ...);
  ((u[K] = _mm512_fmadd_ps(u[K], s[K], _mm512_set1_ps(kExp[2]))), ...);
  ((u[K] = _mm512_fmadd_ps(u[K], s[K], _mm512_set1_ps(kExp[3]))), ...);
  ((u[K] = _mm512_fmadd_ps(u[K], s[K], _mm512_set1_ps(kExp[4]))), ...);
  ((u[K] = _mm512_fmadd_ps(u[K], s[K], _mm512_set1_ps(kExp[5]))), ...);
  ((u[K] = _mm512_fmadd_ps(_mm512_mul_ps(s[K], s[K]), u[K], s[K])), ...);
  ((u[K] = _mm512_add_ps(u[K], _mm512_set1_ps(1))), ...);
  ((a[K] = _mm512_scalef_ps(u[K], q[K])), ...);
}

#elif defined(CPU_CAPABILITY_AVX2)

inline at::vec::Vectorized<float> exponential(const at::vec::Vectorized<float>& a) {
  constexpr float kLeast = -105, kMost = 101;  // in this order NaN comes through
  const __m256 x = _mm256_max_ps(_mm256_set1_ps(kLeast), _mm256_min_ps(_mm256_set1_ps(kMost), a));
  const __m256i n = _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(kLog2E)));
  const __m256 q = _mm256_cvtepi32_ps(n);
  __m256 s = _mm256_fmadd_ps(q, _mm256_set1_ps(-kLn2High), x);
  s = _mm256_fmadd_ps(q, _mm256_set1_ps(-kLn2Low), s);
  __m256 u = _mm256_set1_ps(kExp[0]);
  u = _mm256_fmadd_ps(u, s, _mm256_set1_ps(kExp[1]));
  u = _mm256_fmadd_ps(u, s, _mm256_set1_ps(kExp[2]));
  u = _mm256_fmadd_ps(u, s, _mm256_set1_ps(kExp[3]));
  u = _mm256_fmadd_ps(u, s, _mm256_set1_ps(kExp[4]));
  u = _mm256_fmadd_ps(u, s, _mm256_set1_ps(kExp[5]));
  u = _mm256_fmadd_ps(_mm256_mul_ps(s, s), u, s);
  u = _mm256_add_ps(u, _mm256_set1_ps(1));
  // 2^n in two factors: n reaches beyond the exponents of normal numbers
  const __m256i half = _mm256_srai_epi32(n, 1), bias = _mm256_set1_epi32(127);
  u = _mm256_mul_ps(u, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23)));
  return _mm256_mul_ps(u, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias), 23)));
}

template <size_t... K>
inline __attribute__((always_inline)) void exponentials(at::vec::Vectorized<float>* a, std::index_sequence<K...>) {
  ((a[K] = exponential(a[K])), ...);
}

#endif

}  // namespace
}  // namespace tfx
