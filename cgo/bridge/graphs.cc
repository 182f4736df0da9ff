// CUDA graphs, by libtorch's own capture, which knows what its allocators and
// generators need. This is a library of its own, compiled where CUDA's runtime
// headers are.
#include "graphs.h"

#include <cuda.h>  // first: the size of a graph depends on its version

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>

#include <optional>

namespace tfx {
namespace {

// A Capture sees what a graph keeps for itself, to put right what a failed capture
// leaves behind. Releases differ in how much of that reset does; what they have is
// asked of the compiler.
struct Capture : at::cuda::CUDAGraph {
  void give_up() noexcept {
    // Ends the capture of the stream in any case, by an error where something was
    // not allowed in it.
    try {
      if (!capture_ended_) capture_end();
    } catch (...) {
    }
    try {
      if (!capture_ended_) restore(*this);
    } catch (...) {
    }
    try {
      reset();
    } catch (...) {
    }
  }

 private:
  template <class G>
  static void restore(G& g) {
    if constexpr (requires { g.capturing_to_pool_; }) {
      return;  // reset does it
    } else {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(g.capture_dev_, g.mempool_id_);
      c10::cuda::CUDACachingAllocator::releasePool(g.capture_dev_, g.mempool_id_);
      auto* const host = at::getHostAllocator(at::kCUDA);
      host_pool(*host, g.mempool_id_);
      for (const auto& entry : g.captured_generator_states_) eager(*entry.first);
    }
  }

  template <class A, class P>
  static void host_pool(A& host, const P& pool) {
    if constexpr (requires { host.end_allocate_to_pool(pool); host.release_pool(pool); }) {
      host.end_allocate_to_pool(pool);
      host.release_pool(pool);
    }
  }

  // eager ends what a capture has begun in a generator, which otherwise refuses to
  // draw outside of one.
  template <class S>
  static void eager(S& state) {
    if constexpr (requires { state.capturing_; }) state.capturing_ = false;
  }
};

class CUDAGraph final : public Graph {
 public:
  explicit CUDAGraph(GraphPool& pool) {
    if (pool == GraphPool{0, 0}) pool = at::cuda::graph_pool_handle();
    graph_.emplace();
    try {
      // In the default mode another thread's allocation would break the capture.
      graph_->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    } catch (...) {
      graph_->give_up();
      throw;
    }
  }

  ~CUDAGraph() override {
    if (!ended_ && graph_.has_value()) graph_->give_up();
  }

  void end() override {
    graph_->capture_end();
    ended_ = true;
  }

  void replay() override { graph_->replay(); }

 private:
  std::optional<Capture> graph_;
  bool ended_ = false;
};

struct CUDAGraphs final : Graphs {
  c10::DeviceType device_type() const override { return c10::kCUDA; }
  std::unique_ptr<Graph> begin(GraphPool& pool) override { return std::make_unique<CUDAGraph>(pool); }
};

}  // namespace
}  // namespace tfx

extern "C" __attribute__((visibility("default"))) tfx::Graphs* tfx_graphs(uint32_t abi) {
  static tfx::CUDAGraphs graphs;
  return abi == tfx::kGraphsABI ? &graphs : nullptr;
}
