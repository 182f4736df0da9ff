// What a frame keeps of its device between runs: a graph for each shape class that
// was captured.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Event.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graphs.h"
#include "tfx.h"

namespace tfx {

// A GraphClass is a shape class of a plan on a device.
struct GraphClass {
  std::vector<int64_t> key;
  int64_t runs = 0;  // that were done step by step
  tfx_graph_state state = TFX_GRAPH_WARMING;
  std::string why;  // it was refused
  // of a captured one; the values are the memory that the graph reads and writes
  std::unique_ptr<Graph> graph;
  std::vector<c10::IValue> inputs, outputs;

  void refuse(std::string reason) {
    state = TFX_GRAPH_REFUSED;
    why = std::move(reason);
    graph.reset();
    inputs.clear();
    outputs.clear();
  }
};

// GraphClasses holds the shape classes that a frame has met. Captured ones stay, at
// most as many as the plan says, since their memory does: the pool of a graph holds
// its peak for good. Of the others the most recent are remembered.
class GraphClasses {
 public:
  GraphPool pool{0, 0};  // of all graphs of the frame, which run one after the other

  // of returns the class of a key, a new one where it is not known.
  GraphClass& of(const std::vector<int64_t>& key) {
    for (auto at = all_.begin(); at != all_.end(); ++at) {
      if (at->key != key) continue;
      all_.splice(all_.begin(), all_, at);
      return all_.front();
    }
    if (all_.size() - captured() >= kMost) {
      auto last = all_.end();
      do --last;
      while (last->state == TFX_GRAPH_CAPTURED);
      all_.erase(last);
    }
    all_.emplace_front().key = key;
    return all_.front();
  }

  size_t captured() const {
    size_t n = 0;
    for (const GraphClass& c : all_) n += c.state == TFX_GRAPH_CAPTURED;
    return n;
  }

  const std::list<GraphClass>& all() const { return all_; }

 private:
  static constexpr size_t kMost = 64;
  std::list<GraphClass> all_;  // the most recent first
};

// A Staged is an argument on the CPU and its copy on the device.
struct Staged {
  at::Tensor host, copy;
  uint32_t version;  // of the copy when it was made
};

// A FrameDevice is the part of a frame that belongs to its device.
struct FrameDevice {
  GraphClasses classes;
  std::optional<c10::Event> done;  // one a run
  std::vector<Staged> staged;      // of the run that is going on
  std::vector<int64_t> key;        // its shape class; empty for none
  bool asked = false;              // Go has done a step of it

  void clear() {
    staged.clear();
    key.clear();
    asked = false;
  }
};

}  // namespace tfx
