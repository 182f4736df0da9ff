// Lists for arguments, made once for each thread.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>

namespace tfx {

// Lists are those that a thread's calls are given, one after another. To make a list
// costs two allocations and as much as a small kernel's own work; and hardly an operator
// keeps one. A list that somebody holds is left to him, and another takes its place.
class Lists {
 public:
  c10::IValue ints(const uint64_t* items, uint64_t count, uint64_t stride) {
    const c10::List<int64_t>& list = next(ints_, int_);
    for (uint64_t i = 0; i < count; i++) list.push_back(static_cast<int64_t>(items[i * stride]));
    return list;
  }

  // tensors is empty, and the caller's to fill until end.
  const c10::List<at::Tensor>& tensors() { return next(tensors_, tensor_); }

  // end is the end of a call. Lists of tensors would hold these.
  void end() {
    for (; tensor_ > 0; tensor_--) {
      auto& list = tensors_[tensor_ - 1];
      if (list->use_count() == 1) {
        list->clear();
      } else {
        list.reset();
      }
    }
    int_ = 0;
  }

 private:
  static constexpr size_t kMost = 8;  // of each kind in one call; those beyond take turns

  template <class T>
  static const c10::List<T>& next(std::optional<c10::List<T>> (&lists)[kMost], size_t& used) {
    auto& list = lists[used < kMost ? used++ : kMost - 1];
    if (!list.has_value() || list->use_count() != 1) {
      list.emplace();
    } else {
      list->clear();
    }
    return *list;
  }

  std::optional<c10::List<int64_t>> ints_[kMost];
  std::optional<c10::List<at::Tensor>> tensors_[kMost];
  size_t int_ = 0, tensor_ = 0;
};

}  // namespace tfx
