// Operators that releases before 2.15 have in TorchScript alone: those that tell a fact
// of a tensor, as conversions of modules to graphs call them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace tfx {

// add_facts has libtorch dispatch those that it does not, with the schemas of 2.15.
inline void add_facts() {
  static auto* const lacking = new torch::Library(torch::Library::FRAGMENT, "aten", std::nullopt, __FILE__, __LINE__);
  const auto add = [](const char* name, const char* overload, const char* schema, auto fact) {
    if (!c10::Dispatcher::singleton().findOp({name, overload})) lacking->def(schema, fact);
  };
  add("aten::dim", "", "dim(Tensor self) -> int", [](const at::Tensor& t) { return t.dim(); });
  add("aten::numel", "", "numel(Tensor self) -> int", [](const at::Tensor& t) { return t.numel(); });
  add("aten::storage_offset", "", "storage_offset(Tensor self) -> int", [](const at::Tensor& t) { return t.storage_offset(); });
  add("aten::get_device", "", "get_device(Tensor self) -> int", [](const at::Tensor& t) { return static_cast<int64_t>(t.get_device()); });
  add("aten::is_contiguous", "", "is_contiguous(Tensor self) -> bool", [](const at::Tensor& t) { return t.is_contiguous(); });
  add("aten::is_contiguous", "memory_format", "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
      [](const at::Tensor& t, at::MemoryFormat format) { return t.is_contiguous(format); });
}

}  // namespace tfx
