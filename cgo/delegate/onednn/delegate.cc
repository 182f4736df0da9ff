// The delegate on oneDNN: the functions of tfx_delegate.h. This is the one
// translation unit; each header beside it holds one idea.
#include "describe.h"
#include "region.h"

using namespace tfxd;

namespace {

Region* region_of(tfx_delegate_region* r) { return reinterpret_cast<Region*>(r); }
Class* class_of(tfx_delegate_class* c) { return static_cast<Class*>(c); }

int32_t compile(const int64_t* program, uint64_t nwords, const tfx_delegate_buffer* constants, uint64_t nconstants, tfx_delegate_region** region,
                tfx_delegate_error* error) noexcept {
  *region = nullptr;
  return guarded(error, [&] { *region = reinterpret_cast<tfx_delegate_region*>(new Region(program, nwords, constants, nconstants)); });
}

void retain(tfx_delegate_region* region) noexcept { region_of(region)->retain(); }
void release(tfx_delegate_region* region) noexcept { region_of(region)->release(); }

int32_t prepare(tfx_delegate_region* region, const tfx_delegate_buffer* inputs, uint64_t ninputs, int32_t threads, tfx_delegate_class** shape,
                tfx_delegate_error* error) noexcept {
  if (*shape != nullptr) {
    if (class_of(*shape)->key.fits(inputs, ninputs, threads)) return TFX_DELEGATE_OK;
    class_of(*shape)->release();
    *shape = nullptr;
  }
  return guarded(error, [&] { *shape = region_of(region)->prepare(inputs, ninputs, threads); });
}

void release_class(tfx_delegate_class* shape) noexcept { class_of(shape)->release(); }

int32_t run(tfx_delegate_class* shape, const tfx_delegate_run* memory, tfx_delegate_error* error) noexcept {
  bool finished = false;
  const int32_t code = guarded(error, [&] { finished = class_of(shape)->run(*memory); });
  if (code != TFX_DELEGATE_OK || finished) return code;
  return report(error, TFX_DELEGATE_CANCELLED, "cancelled");
}

// fill writes text, cut at size, and returns what the whole of it needs.
template <class F>
uint64_t fill(char* text, uint64_t size, F&& make) noexcept {
  std::string whole;
  tfx_delegate_error room{text, size};
  if (guarded(&room, [&] { whole = make(); }) != TFX_DELEGATE_OK) return size;
  report(&room, TFX_DELEGATE_OK, whole);
  return whole.size() + 1;
}

uint64_t describe_class(const tfx_delegate_class* shape, char* text, uint64_t size) noexcept {
  return fill(text, size, [&] { return describe(*static_cast<const Class*>(shape)); });
}

uint64_t describe_class_step(const tfx_delegate_class* shape, uint64_t step, char* text, uint64_t size) noexcept {
  return fill(text, size, [&] { return step < shape->nsteps ? describe_step(*static_cast<const Class*>(shape), step) : std::string(); });
}

uint64_t bytes(const tfx_delegate_region* region) noexcept { return reinterpret_cast<const Region*>(region)->bytes(); }

void layouts(const tfx_delegate_region* region, tfx_delegate_layouts* out) noexcept { reinterpret_cast<const Region*>(region)->tell(out); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const tfx_delegate_api* tfx_delegate(void) {
  static const tfx_delegate_api* api = []() -> const tfx_delegate_api* {
    try {
      engine();
      const dnnl_version_t* v = dnnl_version();
      static const std::string version = std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
      static const tfx_delegate_api table{
          TFX_DELEGATE_ABI, sizeof(tfx_delegate_api), "oneDNN", version.c_str(), compile, retain, release, prepare, release_class, run,
          describe_class,   describe_class_step,      bytes,   layouts,
      };
      return &table;
    } catch (...) {
      return nullptr;
    }
  }();
  return api;
}
