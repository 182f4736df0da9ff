// Rules become kernels of the device meta.
//
// They are registered with the dispatcher, and not evaluated in a fallback of the
// recorder: so they answer wherever code computes on the device meta, also beside a
// recording, inside operators that are made of others, and below autograd.
#pragma once

#include <map>
#include <unordered_set>

#include "metacall.h"
#include "metalayers.h"
#include "metalinalg.h"
#include "metapointwise.h"

namespace tfx::meta {

inline Tensors refused(const Call& c) {
  if (c.schema.name() == "aten::_local_scalar_dense") C10_THROW_ERROR(NotImplementedError, "Tensor.item() cannot be called on meta tensors");
  refuse(c.schema, "its result depends on");
}

inline const Entry kRefused[] = {
    {"_local_scalar_dense", refused},
    {"equal", refused},
    {"is_set_to", refused},
    {"_to_sparse", refused},
    {"_to_sparse.sparse_dim", refused},
    {"_to_sparse_csr", refused},
    {"_to_sparse_csc", refused},
    {"_to_sparse_bsr", refused},
    {"_to_sparse_bsc", refused},
};

// has says that libtorch has a kernel for op on the device meta, one of its own or
// one that is made of other operators.
inline bool has(const c10::OperatorHandle& op) {
  for (const auto key : {c10::DispatchKey::Meta, c10::DispatchKey::CompositeImplicitAutograd, c10::DispatchKey::CompositeExplicitAutograd, c10::DispatchKey::CompositeExplicitAutogradNonFunctional}) {
    if (op.hasKernelForDispatchKey(key)) return true;
  }
  return false;
}

// A Table registers rules once for the process. What it registers stays.
class Table {
 public:
  static const Table& get() {
    static const auto* table = new Table();
    return *table;
  }

  // answers says that op can be asked without elements. libtorch's own answer is
  // always yes, since it has a fallback for the device meta, which fails.
  static bool answers(const c10::OperatorHandle& op) { return has(op) && get().refused_.count(op.operator_name()) == 0; }

 private:
  Table() {
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
      if (const auto op = c10::Dispatcher::singleton().findSchema(name)) overloads_[name.name].push_back(*op);
    }
    put(kPointwise);
    put(kLayers);
    put(kLinalg);
    put(kRefused);
    for (const auto& [name, ops] : overloads_) {
      for (const auto& op : ops) {
        if (has(op) || !op.hasKernelForDispatchKey(c10::DispatchKey::CPU)) continue;
        if (op.schema().returns().empty()) put(op, nothing);
        else if (op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output)) put(op, refused);
      }
    }
  }

  template <size_t N>
  void put(const Entry (&entries)[N]) {
    for (const Entry& e : entries) {
      std::string name = e.op, overload;
      if (name.find("::") == std::string::npos) name = "aten::" + name;
      if (const size_t dot = name.rfind('.'); dot != std::string::npos) {
        overload = name.substr(dot + 1);
        name.resize(dot);
      }
      const auto& all = overloads_[name];  // releases differ in what they have
      for (const auto& op : all) {
        if (op.schema().overload_name() != overload) continue;
        put(op, e.rule);
        for (const auto& out : all) {
          if (writes(out.schema(), op.schema()) && !has(out)) put(out, e.rule);
        }
      }
    }
  }

  void put(const c10::OperatorHandle& op, Rule rule) {
    if (op.hasKernelForDispatchKey(c10::DispatchKey::Meta)) return;
    if (rule == refused) refused_.insert(op.operator_name());
    handles_.push_back(c10::Dispatcher::singleton().registerImpl(
        op.operator_name(), c10::DispatchKey::Meta, c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(rule)), std::nullopt, nullptr, "torchfx"));
  }

  // writes says that out is op with out= arguments.
  static bool writes(const c10::FunctionSchema& out, const c10::FunctionSchema& op) {
    const auto& with = out.arguments();
    const auto& without = op.arguments();
    if (with.size() != without.size() + op.returns().size()) return false;
    for (size_t i = 0; i < with.size(); i++) {
      if (i >= without.size() ? !with[i].is_out() : with[i].name() != without[i].name()) return false;
    }
    return true;
  }

  std::map<std::string, std::vector<c10::OperatorHandle>> overloads_;
  std::vector<c10::RegistrationHandleRAII> handles_;
  std::unordered_set<c10::OperatorName> refused_;
};

}  // namespace tfx::meta
