// Programs that AOTInductor compiled, by libtorch's loader of their packages.
#pragma once

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include "error.h"
#include "mode.h"
#include "script.h"
#include "value.h"

namespace tfx {

// A Compiled is a loaded program, held as an object.
struct Compiled : torch::CustomClassHolder {
  Compiled(const std::string& path, const std::string& model, int64_t runners, c10::DeviceIndex device)
      : loader(path, model, /*run_single_threaded=*/false, runners, device) {}
  torch::inductor::AOTIModelPackageLoader loader;
};

inline Compiled& compiled(uint64_t object) {
  return *c10::static_intrusive_pointer_cast<Compiled>(reinterpret_cast<const c10::IValue*>(object)->toCapsule());
}

// aoti_load unpacks and loads the program called model; device is an index, -1 for
// that of the package. runners is how many runs there may be at once.
inline int32_t aoti_load(const char* path, const char* model, int64_t runners, int32_t device, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    watch_warnings();
    out.value(c10::IValue::make_capsule(c10::make_intrusive<Compiled>(path, model, runners, static_cast<c10::DeviceIndex>(device))));
  });
}

// aoti_metadata writes the package's metadata: STR key, STR value, for each.
inline int32_t aoti_metadata(uint64_t object, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const auto metadata = compiled(object).loader.get_metadata();
    out.head(TFX_LIST, 2 * metadata.size());
    for (const auto& [key, value] : metadata) out.str(key), out.str(value);
  });
}

// aoti_spec writes how arguments and results are nested, as pytree's JSON: STR of
// (arguments, keyword arguments), STR of the results.
inline int32_t aoti_spec(uint64_t object, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const auto spec = compiled(object).loader.get_call_spec();
    out.head(TFX_LIST, spec.size());
    for (const auto& text : spec) out.str(text);
  });
}

// aoti_run runs the program on tensors, and writes TENSORS. The inputs are borrowed.
inline int32_t aoti_run(uint64_t object, const tfx_mode* mode, const uint64_t* inputs, uint64_t ninputs, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    std::vector<at::Tensor> in;
    in.reserve(ninputs);
    for (uint64_t i = 0; i < ninputs; i++) in.push_back(tensor(inputs[i]));
    Scope scope(mode);
    out.value(compiled(object).loader.run(in));
  });
}

}  // namespace tfx
