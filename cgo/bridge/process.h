// Generators, and what is the process's.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Version.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <sstream>

#include "error.h"
#include "mode.h"
#include "value.h"

// Declared in torch/csrc/inductor/aoti_torch/c/shim.h, which is not narrow.
extern "C" uint64_t aoti_torch_abi_version();

// MKL's, where libtorch has it: the buffers of matrix products of all threads.
extern "C" void mkl_serv_free_buffers() __attribute__((weak));

namespace tfx {

// trim gives back memory that nobody uses: buffers of MKL, and C's heap.
inline void trim() noexcept {
  if (mkl_serv_free_buffers != nullptr) mkl_serv_free_buffers();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

inline uint64_t torch_running() noexcept { return aoti_torch_abi_version(); }

// generator returns the one behind a handle; 0 is the CPU's default one.
inline at::Generator generator(uint64_t g) {
  if (g == 0) return at::globalContext().defaultGenerator(c10::Device(c10::kCPU));
  return at::Generator(GeneratorPtr::unsafe_reclaim_from_nonowning(reinterpret_cast<c10::GeneratorImpl*>(g)));
}

inline int32_t generator_new(uint64_t seed, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) { out.value(at::detail::createCPUGenerator(seed)); });
}

inline int32_t generator_seed(uint64_t g, uint64_t seed, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) {
    if (g == 0) return at::manual_seed(seed);
    at::Generator gen = generator(g);
    std::lock_guard<std::mutex> lock(gen.mutex());
    gen.set_current_seed(seed);
  });
}

inline int32_t generator_get_seed(uint64_t g, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    at::Generator gen = generator(g);
    std::lock_guard<std::mutex> lock(gen.mutex());
    out.word(gen.current_seed());
  });
}

inline int32_t generator_state(uint64_t g, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    at::Generator gen = generator(g);
    std::lock_guard<std::mutex> lock(gen.mutex());
    out.tensor(gen.get_state());
  });
}

inline int32_t generator_set_state(uint64_t g, uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) {
    at::Generator gen = generator(g);
    std::lock_guard<std::mutex> lock(gen.mutex());
    gen.set_state(tensor(t));
  });
}

inline void generator_release(uint64_t g) noexcept { GeneratorPtr::reclaim(reinterpret_cast<c10::GeneratorImpl*>(g)); }

inline void object_release(uint64_t obj) noexcept { delete reinterpret_cast<c10::IValue*>(obj); }

inline int32_t info(uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    std::ostringstream s;
    s << "cpu\t" << at::get_cpu_capability() << "\nmkl\t" << at::hasMKL() << "\nmkldnn\t" << at::hasMKLDNN() << "\nmkldnn_version\t";
    if (at::hasMKLDNN()) s << at::get_mkldnn_version();
    if (at::hasMKL()) s << "\nmkl_version\t" << at::get_mkl_version();
    s << "\nthreads\t" << at::get_num_threads() << "\nopenmp\t" << at::get_openmp_version() << "\n\n" << at::show_config();
    out.str(s.str());
  });
}

inline int32_t drain_warnings(uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) { out.str(warnings().drain()); });
}

inline int32_t set_deterministic(int32_t on, int32_t warn_only, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) { at::globalContext().setDeterministicAlgorithms(on != 0, warn_only != 0); });
}

}  // namespace tfx
