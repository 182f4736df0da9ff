// Failures: an exception inside the library, a code and a text outside it.
#pragma once

#include <cstring>
#include <new>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dnnl.hpp"

#include "tfx_delegate.h"

namespace tfxd {

using Dims = std::vector<int64_t>;

struct Error {
  int32_t code;
  std::string text;
};

inline std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '[';
  for (size_t i = 0; i < dims.size(); i++) out << (i ? ", " : "") << dims[i];
  return out << ']';
}

template <class... Parts>
[[noreturn]] void fail(int32_t code, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error{code, text.str()};
}

inline int32_t report(tfx_delegate_error* error, int32_t code, const std::string& text) noexcept {
  if (error != nullptr && error->text != nullptr && error->size > 0) {
    const size_t n = std::min<size_t>(text.size(), error->size - 1);
    std::memcpy(error->text, text.data(), n);
    error->text[n] = 0;
  }
  return code;
}

// guarded runs what an entry of the library does. No exception passes it.
template <class F>
int32_t guarded(tfx_delegate_error* error, F&& body) noexcept {
  try {
    try {
      body();
      return TFX_DELEGATE_OK;
    } catch (const Error& e) {
      return report(error, e.code, e.text);
    } catch (const dnnl::error& e) {
      const bool memory = e.status == dnnl_out_of_memory;
      const bool missing = e.status == dnnl_unimplemented;
      return report(error, memory ? TFX_DELEGATE_MEMORY : missing ? TFX_DELEGATE_NOT_IMPLEMENTED : TFX_DELEGATE_INTERNAL,
                    std::string("oneDNN: ") + e.what());
    } catch (const std::bad_alloc&) {
      return report(error, TFX_DELEGATE_MEMORY, "out of memory");
    } catch (const std::exception& e) {
      return report(error, TFX_DELEGATE_INTERNAL, e.what());
    }
  } catch (...) {  // making the text failed
    return TFX_DELEGATE_MEMORY;
  }
}

}  // namespace tfxd
