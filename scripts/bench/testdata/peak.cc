// The most that one core multiplies and adds: a loop of fused multiplications and
// additions of registers, twelve of which are under way at once, so that none waits
// for the one before. It is written in assembly so that no option of a compiler
// counts, compiled and opened as bare.cc is.
#include <torch/library.h>

#include <ctime>

namespace {

constexpr int64_t kUnder = 12;

int64_t cpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

// clang-format off
#define ALL(f, r) f(r, 0) f(r, 1) f(r, 2) f(r, 3) f(r, 4) f(r, 5) f(r, 6) f(r, 7) f(r, 8) f(r, 9) f(r, 10) f(r, 11)
#define CLEAR(r, i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n"
#define FMA(r, i) "vfmadd231ps %%" r "12, %%" r "13, %%" r #i "\n"
#define LOOP(r)                                                                                              \
  asm volatile(ALL(CLEAR, r) CLEAR(r, 12) CLEAR(r, 13) "1:\n" ALL(FMA, r) "dec %0\njnz 1b\nvzeroupper\n" : "+r"(rounds) : \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13")
// clang-format on

// multiply_add runs rounds of the loop on vectors of so many bits and returns the nanoseconds of
// CPU time and the operations of float32 done; of the latter none where the processor
// has no such vectors.
std::tuple<int64_t, int64_t> multiply_add(int64_t bits, int64_t rounds) {
  TORCH_CHECK(rounds > 0 && (bits == 256 || bits == 512), "multiply_add: expected rounds, and vectors of 256 or 512 bits");
  const int64_t operations = rounds * kUnder * (bits / 32) * 2;
  const int64_t start = cpu();
#ifdef __x86_64__
  if (bits == 512 && __builtin_cpu_supports("avx512f")) {
    LOOP("zmm");
    return {cpu() - start, operations};
  }
  if (bits == 256 && __builtin_cpu_supports("fma")) {
    LOOP("ymm");
    return {cpu() - start, operations};
  }
#endif
  return {0, 0};
}

}  // namespace

TORCH_LIBRARY(torchfx_peak, m) { m.def("multiply_add(int bits, int rounds) -> (int, int)", multiply_add); }
