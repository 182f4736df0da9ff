// The processor as oneDNN sees it, and the threads that kernels may use.
#pragma once

#include <cstdlib>

#include "error.h"

// Of the OpenMP runtime that is in the process already: libtorch's. It is named
// here, not included, since another compiler would bring its own runtime along.
extern "C" {
void omp_set_num_threads(int n);
int omp_get_max_threads(void);
}

namespace tfxd {

// engine is the one of the process. It is never destroyed: primitives of other
// threads may live when the process ends.
inline const dnnl::engine& engine() {
  static const dnnl::engine* one = [] {
    // Classes own their primitives. The cache only lets layers that are alike
    // share code, so it need not be as large as its default of 1,024.
    if (std::getenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY") == nullptr && std::getenv("DNNL_PRIMITIVE_CACHE_CAPACITY") == nullptr) {
      dnnl_set_primitive_cache_capacity(256);
    }
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *one;
}

// forget_kernels empties oneDNN's cache of kernels that no class holds, of layouts that
// were only tried.
inline void forget_kernels() {
  int capacity = 0;
  if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success || capacity == 0) return;
  dnnl_set_primitive_cache_capacity(0);
  dnnl_set_primitive_cache_capacity(capacity);
}

// Threads gives the calling thread's OpenMP teams n threads for a while. The
// number belongs to the thread, so others are not disturbed.
class Threads {
 public:
  explicit Threads(int n) : before_(omp_get_max_threads()) {
    if (n != before_) omp_set_num_threads(n);
    set_ = n != before_;
  }
  ~Threads() {
    if (set_) omp_set_num_threads(before_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
  bool set_ = false;
};

}  // namespace tfxd
