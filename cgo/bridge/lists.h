// Lists and texts for arguments, made once for each thread.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <string_view>

namespace tfx {

// Lists are those that a thread's calls are given, one after another. To make a list
// costs two allocations and as much as a small kernel's own work; and hardly an operator
// keeps one. A list that somebody holds is left to him, and another takes its place.
class Lists {
 public:
  c10::IValue ints(const uint64_t* items, uint64_t count, uint64_t stride) {
    std::optional<c10::List<int64_t>>& list = place(ints_, int_);
    if (list.has_value() && list->use_count() == 1) {
      // as the last call had it, mostly
      if (holds(*list, items, count, stride)) return *list;
      list->clear();
    } else {
      list.emplace();
    }
    for (uint64_t i = 0; i < count; i++) list->push_back(static_cast<int64_t>(items[i * stride]));
    return *list;
  }

  // text is a string. Nobody writes to one, so that it may be held elsewhere.
  c10::IValue text(const char* chars, uint64_t count) {
    std::optional<c10::IValue>& text = place(texts_, text_);
    const std::string_view wanted(chars, count);
    if (!text.has_value() || text->toStringView() != wanted) text.emplace(std::string(wanted));
    return *text;
  }

  // tensors is empty, and the caller's to fill until end.
  const c10::List<at::Tensor>& tensors() {
    std::optional<c10::List<at::Tensor>>& list = place(tensors_, tensor_);
    if (!list.has_value() || list->use_count() != 1) {
      list.emplace();
    } else {
      list->clear();
    }
    return *list;
  }

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
    int_ = text_ = 0;
  }

 private:
  static constexpr size_t kMost = 8;  // of each kind in one call; those beyond take turns

  template <class T>
  static std::optional<T>& place(std::optional<T> (&all)[kMost], size_t& used) {
    return all[used < kMost ? used++ : kMost - 1];
  }

  static bool holds(const c10::List<int64_t>& list, const uint64_t* items, uint64_t count, uint64_t stride) {
    if (list.size() != count) return false;
    for (uint64_t i = 0; i < count; i++) {
      if (list.get(i) != static_cast<int64_t>(items[i * stride])) return false;
    }
    return true;
  }

  std::optional<c10::List<int64_t>> ints_[kMost];
  std::optional<c10::List<at::Tensor>> tensors_[kMost];
  std::optional<c10::IValue> texts_[kMost];
  size_t int_ = 0, tensor_ = 0, text_ = 0;
};

}  // namespace tfx
