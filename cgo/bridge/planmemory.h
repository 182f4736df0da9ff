// Where the intermediate values of a plan lie: the layouts of the shape classes it
// has seen, made by the watch of planwatch.h, and the block of memory that a frame
// lays one out in.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "allocate.h"
#include "group.h"

namespace tfx {

// A Place is one result that is written into planned memory.
struct Place {
  int32_t step, slot;
  std::vector<int64_t> sizes, strides;
  c10::ScalarType dtype;
  uint64_t bytes, offset;
  int32_t first, last;  // the steps between which the memory is taken
  bool granted;         // to an operator that allocates its results, and not given to an out variant
};

// A Request is memory that an operator asks for while it runs.
struct Request {
  enum : int32_t { kScratch = -1, kElsewhere = -2 };

  int32_t result;  // of the step; kScratch for what it gives back itself; kElsewhere for what is not planned
  uint64_t bytes, offset;
};

// A Choice is what a step does in a shape class.
struct Choice {
  int32_t overload = -1;  // the one that took the arguments
  int32_t place = -1;     // the first of its results' places, -1 where it allocates
  int32_t requests = -1;  // of the layout: what it is granted, -1 where that is nothing
  int32_t group = -1;     // that it is done in
  bool shares = false;    // its results were not memory of their own alone
};

// A Layout is the memory plan of one shape class. It is immutable.
struct Layout {
  std::vector<int64_t> key;
  std::vector<Choice> choices;  // by step
  std::vector<Place> places;
  std::vector<std::vector<Request>> requests;  // of one step each, in the order of asking
  std::vector<Group> groups;  // by their last steps
  std::vector<uint8_t> held;  // slots that places fill, but those that are granted
  uint64_t bytes = 0;         // of the block
};

// Layouts holds the shape classes that a plan has seen, the most recent ones.
class Layouts {
 public:
  std::shared_ptr<const Layout> find(const std::vector<int64_t>& key) {
    std::lock_guard<std::mutex> lock(mu_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    return *found->second;
  }

  void add(std::shared_ptr<const Layout> l) {
    std::lock_guard<std::mutex> lock(mu_);
    if (by_key_.count(l->key) > 0) return; // another run of the class was faster
    recent_.push_front(l);
    by_key_.emplace(l->key, recent_.begin());
    if (recent_.size() <= kMost) return;
    by_key_.erase(recent_.back()->key);
    recent_.pop_back();
  }

  // distrust says that the operator of a step has kept memory that it was granted. It
  // gets none in the layouts to come, and those that there are, are forgotten.
  void distrust(int32_t step) {
    std::lock_guard<std::mutex> lock(mu_);
    distrusted_.insert(step);
    recent_.clear();
    by_key_.clear();
  }

  bool trusts(int32_t step) {
    std::lock_guard<std::mutex> lock(mu_);
    return distrusted_.count(step) == 0;
  }

  std::vector<std::shared_ptr<const Layout>> all() {
    std::lock_guard<std::mutex> lock(mu_);
    return {recent_.begin(), recent_.end()};
  }

 private:
  static constexpr size_t kMost = 64;
  struct Hash {
    size_t operator()(const std::vector<int64_t>& key) const {
      uint64_t h = 14695981039346656037u;
      for (const int64_t k : key) h = (h ^ static_cast<uint64_t>(k)) * 1099511628211u;
      return h ^ h >> 32;
    }
  };

  std::mutex mu_;
  std::list<std::shared_ptr<const Layout>> recent_;
  std::unordered_set<int32_t> distrusted_;
  std::unordered_map<std::vector<int64_t>, std::list<std::shared_ptr<const Layout>>::iterator, Hash> by_key_;
};

// A Block is the planned memory of one frame and the tensors that look at it.
class Block {
 public:
  const Layout* layout() const { return layout_.get(); }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

  // use lays the places of l out. Tensors and storages are reused: to go from
  // one shape class to another costs some ten nanoseconds a place.
  void use(std::shared_ptr<const Layout> l) {
    layout_ = std::move(l);
    char* const base = room_.of(layout_->bytes);
    for (size_t i = 0; i < layout_->places.size(); i++) {
      const Place& p = layout_->places[i];
      if (i == tensors_.size()) tensors_.push_back(at::Tensor(at::detail::empty_cpu({0}, p.dtype)));
      c10::TensorImpl* const impl = tensors_[i].unsafeGetTensorImpl();
      c10::StorageImpl* const storage = impl->unsafe_storage().unsafeGetStorageImpl();
      storage->set_data_ptr_noswap(c10::DataPtr(base + p.offset, c10::Device(c10::kCPU)));
      storage->set_nbytes(p.bytes);
      if (impl->dtype().toScalarType() != p.dtype) impl->set_storage_and_dtype(impl->storage(), caffe2::TypeMeta::fromScalarType(p.dtype));
      impl->set_sizes_and_strides(p.sizes, p.strides, 0);
    }
  }

  // leave forgets the layout. The memory is kept for the next one.
  void leave() { layout_.reset(); }

  // granted is the memory of a request, null where none may be granted.
  void* granted(const Request& r) const { return room_.pages() == nullptr || r.result == Request::kElsewhere ? nullptr : room_.pages() + r.offset; }

  // abandon leaves the memory for good to somebody who has kept a part of it.
  void abandon() {
    leave();
    room_.abandon();
  }

 private:
  std::shared_ptr<const Layout> layout_;
  std::vector<at::Tensor> tensors_;
  Room room_;
};

}  // namespace tfx
