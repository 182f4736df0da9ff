// Functions of float32 to the nearest float, and which of their results are close
// to the middle between two floats: the rounding test of A. Ziv, "Fast evaluation of
// elementary mathematical functions with correctly rounded last bit", ACM TOMS 17
// (1991), with a width that a given kernel needs (nearest.h), not one that proves
// the rounding.
//
// Both go by a table of powers of two: e^x = 2^k 2^(j/m) e^r, where k + j/m is x / ln 2
// rounded to a multiple of 1/m and r what is left, for which a short polynomial does.
#pragma once

#include "lanes.h"

#if defined(CPU_CAPABILITY_AVX512)

#include <immintrin.h>

#include <bit>

namespace tfx {
namespace {

// power is 2^(j/32), to some units of its last place.
constexpr double power(int j) {
  constexpr double kRoots[] = {1.0218971486541166, 1.0442737824274138, 1.0905077326652577, 1.189207115002721, 1.4142135623730951};
  double p = 1;
  for (int b = 0; b < 5; b++) p *= (j >> b & 1) != 0 ? kRoots[b] : 1;
  return p;
}

struct Powers {
  alignas(64) float high[32] = {}, low[32] = {};  // of 2^(j/32), which is their sum
  alignas(64) int64_t bits[16] = {};              // of 2^(j/16), less j at the place where k goes
  constexpr Powers() {
    for (int j = 0; j < 32; j++) {
      high[j] = static_cast<float>(power(j));
      low[j] = static_cast<float>(power(j) - static_cast<double>(high[j]));
    }
    for (int64_t j = 0; j < 16; j++) bits[j] = std::bit_cast<int64_t>(power(static_cast<int>(2 * j))) - (j << 48);
  }
};
constexpr Powers kPowers;

constexpr double kPerLn2 = 1.4426950408889634, kLn2 = 0.6931471805599453;

// exp_nearest is e^x. It is in doubt of results that are within the width times
// 2^(j/32) / 2 units of their last place of a middle, since what it rounds on the way,
// as MKL does, has a share in the result that grows with that power; of those
// that have fewer bits; and of NaN.
inline __m512 exp_nearest(__m512 x, __mmask16& doubt) {
  constexpr float kWidth = 0.09f * 0x1p-24f;
  constexpr float kGrid = 0x1.8p18f;  // a sum with it is rounded to a multiple of 1/32
  constexpr float kHigh = 0.693359375f, kLow = static_cast<float>(kLn2 - kHigh);
  // to where the result is 0 or infinite; in this order NaN comes through
  const __m512 a = _mm512_min_ps(_mm512_set1_ps(90), _mm512_max_ps(_mm512_set1_ps(-104), x));
  const __m512 grid = _mm512_fmadd_ps(a, _mm512_set1_ps(static_cast<float>(kPerLn2)), _mm512_set1_ps(kGrid));
  const __m512 k = _mm512_sub_ps(grid, _mm512_set1_ps(kGrid));
  const __m512 r = _mm512_fmadd_ps(k, _mm512_set1_ps(-kLow), _mm512_fmadd_ps(k, _mm512_set1_ps(-kHigh), a));
  // e^r - 1 for |r| < 0.011: the factor of r^2 is larger than 1/2 by what makes up for
  // r^4 / 24, which is left out
  const __m512 q = _mm512_fmadd_ps(r, _mm512_set1_ps(1 / 6.0f), _mm512_set1_ps(0.50000405f));
  const __m512 p = _mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r);
  const __m512i j = _mm512_castps_si512(grid);  // in its last five bits
  const __m512 high = _mm512_permutex2var_ps(_mm512_load_ps(kPowers.high), j, _mm512_load_ps(kPowers.high + 16));
  const __m512 low = _mm512_permutex2var_ps(_mm512_load_ps(kPowers.low), j, _mm512_load_ps(kPowers.low + 16));
  const __m512 more = _mm512_fmadd_ps(high, p, low);
  const __m512 up = _mm512_add_ps(high, _mm512_fmadd_ps(high, _mm512_set1_ps(kWidth), more));
  const __m512 down = _mm512_add_ps(high, _mm512_fmadd_ps(high, _mm512_set1_ps(-kWidth), more));
  const __m512 y = _mm512_scalef_ps(up, k);  // by 2 to the whole part of k
  constexpr int kDenormal = 0x20;
  doubt = _mm512_cmp_ps_mask(up, down, _CMP_NEQ_UQ) | _mm512_fpclass_ps_mask(y, kDenormal);
  return y;
}

// tanh_nearest is (e^y - 1) / (e^y + 1) with y = 2x, of eight numbers in double
// precision, for y and not for x. It is in doubt of results that are within 1/64 of a unit
// of the last place of a middle; a NaN comes through.
inline __m512d tanh_nearest(__m512d y, __mmask8& doubt) {
  constexpr double kGrid = 0x1.8p48;  // a sum with it is rounded to a multiple of 1/16
  const __m512d grid = _mm512_fmadd_pd(y, _mm512_set1_pd(kPerLn2), _mm512_set1_pd(kGrid));
  const __m512d k = _mm512_sub_pd(grid, _mm512_set1_pd(kGrid));
  const __m512d r = _mm512_fmadd_pd(k, _mm512_set1_pd(-kLn2), y);
  __m512d q = _mm512_fmadd_pd(r, _mm512_set1_pd(1 / 120.0), _mm512_set1_pd(1 / 24.0));
  q = _mm512_fmadd_pd(q, r, _mm512_set1_pd(1 / 6.0));
  q = _mm512_fmadd_pd(q, r, _mm512_set1_pd(0.5));
  const __m512d p = _mm512_fmadd_pd(_mm512_mul_pd(r, r), q, r);  // e^r - 1 for |r| < 0.022
  const __m512i kj = _mm512_castpd_si512(grid);                  // in its last bits
  const __m512i table = _mm512_permutex2var_epi64(_mm512_load_si512(kPowers.bits), kj, _mm512_load_si512(kPowers.bits + 8));
  const __m512d t = _mm512_castsi512_pd(_mm512_add_epi64(table, _mm512_slli_epi64(kj, 48)));  // 2^k
  const __m512d less = _mm512_fmadd_pd(t, p, _mm512_sub_pd(t, _mm512_set1_pd(1)));            // e^y - 1
  const __m512d v = _mm512_div_pd(less, _mm512_add_pd(less, _mm512_set1_pd(2)));
  constexpr int64_t kUnit = int64_t{1} << 29, kWidth = kUnit / 64;  // of float, in bits of double
  const __m512i above = _mm512_add_epi64(_mm512_castpd_si512(v), _mm512_set1_epi64(kUnit / 2 + kWidth));
  doubt = _mm512_testn_epi64_mask(above, _mm512_set1_epi64(kUnit - 2 * kWidth));
  return v;
}

inline __m512 tanh_nearest(__m512 x, __mmask16& doubt) {
  // to where the result is 1; in this order NaN comes through
  const __m512 a = _mm512_min_ps(_mm512_set1_ps(10), _mm512_max_ps(_mm512_set1_ps(-10), x));
  const __m512 y = _mm512_add_ps(a, a);
  __mmask8 first, second;
  const __m256 low = _mm512_cvtpd_ps(tanh_nearest(_mm512_cvtps_pd(_mm512_castps512_ps256(y)), first));
  const __m256 high = _mm512_cvtpd_ps(tanh_nearest(_mm512_cvtps_pd(_mm512_extractf32x8_ps(y, 1)), second));
  doubt = static_cast<__mmask16>(first | second << 8);
  const __m512 t = _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
  constexpr int kFirstChooses = 0xCA;  // with the sign of x, which of -0 is lost
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(x), _mm512_castps_si512(t), kFirstChooses));
}

// nearest is the loop of a function. Places are collected some vectors after the results,
// when it is known what is in doubt, and without a branch that depends on it: which
// results are in doubt nobody foresees.
template <__m512 (*kFunction)(__m512, __mmask16&)>
int64_t nearest(const float* in, float* out, int64_t n, float* doubted, int32_t* at) {
  constexpr int64_t kVector = 16, kVectors = 16;
  static_assert(kNearestSpare >= kVector);
  int64_t count = 0;
  for (int64_t i = 0; i < n;) {
    uint16_t doubts[kVectors];
    const int64_t first = i;
    int64_t vectors = 0;
    for (; vectors < kVectors && i + kVector <= n; i += kVector) _mm512_storeu_ps(out + i, kFunction(_mm512_loadu_ps(in + i), doubts[vectors++]));
    if (vectors < kVectors && i < n) {
      const auto part = static_cast<__mmask16>((1 << (n - i)) - 1);
      _mm512_mask_storeu_ps(out + i, part, kFunction(_mm512_maskz_loadu_ps(part, in + i), doubts[vectors]));
      doubts[vectors++] &= part;
      i = n;
    }
    __m512i places = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first)), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    for (int64_t v = 0; v < vectors; v++) {
      const int doubt = std::popcount(doubts[v]);
      const __m512i packed = _mm512_maskz_compress_epi32(doubts[v], places);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + count), _mm512_castsi512_si256(packed));
      if (doubt > kVector / 2) _mm512_storeu_si512(at + count, packed);
      count += doubt;
      places = _mm512_add_epi32(places, _mm512_set1_epi32(kVector));
    }
  }
  for (int64_t k = 0; k < count; k++) doubted[k] = in[at[k]];
  return count;
}

}  // namespace
}  // namespace tfx

#endif
