// Graphs of a device: work that was captured from a stream once and is replayed by
// one launch. The bridge is compiled without the headers of any device, so what
// captures is a library of its own (graphs.cc for CUDA), opened where it is there.
// Both sides are compiled together and may throw.
#pragma once

#include <c10/core/DeviceType.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace tfx {

// GRAPHS_ABI is raised with every change of this file.
constexpr uint32_t kGraphsABI = 1;

// A GraphPool names the memory that captures share. Graphs of one pool must not run
// at once, and what one leaves in it is gone after the next.
using GraphPool = std::pair<uint64_t, uint64_t>;

// A Graph is a capture that is going on or done. One that is destroyed before end
// has returned is given up: the stream, the allocators and the generators are as
// before it.
struct Graph {
  virtual ~Graph() = default;
  virtual void end() = 0;
  virtual void replay() = 0;  // on the current stream
};

struct Graphs {
  virtual ~Graphs() = default;
  virtual c10::DeviceType device_type() const = 0;
  // begin captures what this thread gives to the current stream, which must not be
  // the default one; nothing of it is done. A pool of zeros becomes a new one.
  virtual std::unique_ptr<Graph> begin(GraphPool& pool) = 0;
};

// The one symbol of the library: nullptr for another number.
constexpr const char* kGraphsSymbol = "tfx_graphs";
using GraphsFn = Graphs* (*)(uint32_t abi);

}  // namespace tfx
