// TorchScript programs, by libtorch's own loader and interpreter.
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include "error.h"
#include "mode.h"
#include "record.h"
#include "value.h"

namespace tfx {

// script_load reads a program; its tensors go to a device, or where they were when
// kind is negative.
inline int32_t script_load(const char* path, int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    watch_warnings();
    const auto device = kind < 0 ? std::optional<c10::Device>() : c10::Device(static_cast<c10::DeviceType>(kind), static_cast<c10::DeviceIndex>(index));
    const torch::jit::Module m = torch::jit::load(path, device);
    out.value(m._ivalue());
  });
}

inline torch::jit::Module script(uint64_t object) {
  return torch::jit::Module(reinterpret_cast<const c10::IValue*>(object)->toObject());
}

// script_methods writes a TUPLE for each method: its name, then a TUPLE for each
// argument (name, type, whether there is a default), then the type of the result.
inline int32_t script_methods(uint64_t object, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const auto methods = script(object).get_methods();
    out.head(TFX_LIST, methods.size());
    for (const auto& m : methods) {
      const auto& schema = m.function().getSchema();
      out.head(TFX_TUPLE, 3);
      out.str(m.name());
      out.head(TFX_LIST, schema.arguments().size() - 1);
      for (size_t i = 1; i < schema.arguments().size(); i++) {  // without self
        const auto& a = schema.arguments()[i];
        out.head(TFX_TUPLE, 3);
        out.str(a.name());
        out.str(a.type()->str());
        out.head(TFX_BOOL, a.default_value().has_value());
      }
      out.str(schema.returns().empty() ? "NoneType" : schema.returns()[0].type()->str());
    }
  });
}

// script_state writes a TUPLE for each tensor: its qualified name, the tensor, and
// whether it is a parameter.
inline int32_t script_state(uint64_t object, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const torch::jit::Module m = script(object);
    std::vector<std::tuple<std::string, at::Tensor, bool>> all;
    for (const auto& p : m.named_parameters()) all.emplace_back(p.name, p.value, true);
    for (const auto& b : m.named_buffers()) all.emplace_back(b.name, b.value, false);
    out.head(TFX_LIST, all.size());
    for (auto& [name, tensor, parameter] : all) {
      out.head(TFX_TUPLE, 3);
      out.str(name);
      out.tensor(std::move(tensor));
      out.head(TFX_BOOL, parameter);
    }
  });
}

// script_attribute reads an attribute: NONE and no more where there is none, else a
// TUPLE of its value.
inline int32_t script_attribute(uint64_t object, const char* name, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const torch::jit::Module m = script(object);
    if (!m.hasattr(name)) return out.head(TFX_NONE);
    out.head(TFX_TUPLE, 1);
    out.value(m.attr(name));
  });
}

inline int32_t script_train(uint64_t object, int32_t on, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) { script(object).train(on != 0); });
}

// script_call runs a method. args are, for each argument that is given, STR its name
// and its value.
inline int32_t script_call(uint64_t object, const tfx_mode* mode, const char* method, const uint64_t* args, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const torch::jit::Module m = script(object);
    const auto found = m.find_method(method);
    TORCH_CHECK_VALUE(found.has_value(), "no method ", method);
    const auto& schema = found->function().getSchema();
    Reader in(args, nargs);
    torch::jit::Kwargs given;
    while (!in.done()) {
      const std::string name = in.value(*c10::StringType::get()).toStringRef();
      const auto at = schema.argumentIndexWithName(name);
      if (!at.has_value()) throw Fault("bridge: no argument " + name);
      given.emplace(name, in.value(*schema.arguments()[*at].type()));
    }
    c10::IValue result;
    {
      Scope scope(mode);
      result = (*found)({}, given);
    }
    out.value(std::move(result));
  });
}

}  // namespace tfx
