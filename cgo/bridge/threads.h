// The threads of libtorch's kernels.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>

#include <atomic>

namespace tfx {

// on_threads calls f with the bounds of shares of 0 to n, each on a thread of libtorch's
// kernels. at::parallel_for is serial here, since its header is compiled without OpenMP.
// An iteration is compiled with libtorch: this one is over a tensor of which only the places of
// elements matter.
template <class F>
void on_threads(int64_t n, const F& f) {
  const at::Tensor places(at::detail::empty_cpu({n}, c10::kByte));
  const char* const first = static_cast<const char*>(places.const_data_ptr());
  at::TensorIterator::borrowing_nullary_op(places).for_each(
      [&](char** at, const int64_t*, int64_t count) { f(at[0] - first, at[0] - first + count); }, 1);
}

// team is how many threads there are: OpenMP may give fewer than at::get_num_threads, by
// OMP_THREAD_LIMIT for one.
inline int64_t team() {
  const int64_t most = at::get_num_threads();
  if (most == 1) return 1;
  std::atomic<int64_t> shares = 0;
  on_threads(most * most, [&](int64_t, int64_t) { shares++; });  // so many that each thread has one
  return shares;
}

}  // namespace tfx
