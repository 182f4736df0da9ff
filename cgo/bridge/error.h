// Exceptions end here.
#pragma once

#include <c10/util/Exception.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "tfx.h"
#include "value.h"

namespace tfx {

// fail puts a message where the results would have been: it arrives by the same
// crossing, so no other call can have replaced it.
inline int32_t fail(int32_t code, const char* text, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  const size_t len = std::strlen(text);
  o->used = len;
  o->heap = 0;
  void* to = w;
  if (len > n * sizeof(uint64_t)) {
    to = std::malloc(len);
    if (to == nullptr) {
      to = w;
      o->used = n * sizeof(uint64_t);
    } else {
      o->heap = reinterpret_cast<uint64_t>(to);
    }
  }
  std::memcpy(to, text, o->used);
  return code;
}

// guarded runs f(Writer&) and turns whatever it throws into a code and a text
// without the C++ backtrace. The order is from the particular to the general.
template <class F>
int32_t guarded(uint64_t* w, uint64_t n, tfx_out* o, F&& f) noexcept {
  try {
    o->heap = 0;
    Writer out(w, n, o);
    f(out);
    out.finish();
    return TFX_OK;
  } catch (const c10::OutOfMemoryError& e) {
    return fail(TFX_MEMORY, e.what_without_backtrace(), w, n, o);
  } catch (const c10::NotImplementedError& e) {
    return fail(TFX_NOT_IMPLEMENTED, e.what_without_backtrace(), w, n, o);
  } catch (const c10::IndexError& e) {
    return fail(TFX_INDEX, e.what_without_backtrace(), w, n, o);
  } catch (const c10::ValueError& e) {
    return fail(TFX_VALUE, e.what_without_backtrace(), w, n, o);
  } catch (const c10::TypeError& e) {
    return fail(TFX_TYPE, e.what_without_backtrace(), w, n, o);
  } catch (const c10::LinAlgError& e) {
    return fail(TFX_LINALG, e.what_without_backtrace(), w, n, o);
  } catch (const c10::SyntaxError& e) {
    return fail(TFX_SYNTAX, e.what_without_backtrace(), w, n, o);
  } catch (const c10::AcceleratorError& e) {
    return fail(TFX_ACCELERATOR, e.what_without_backtrace(), w, n, o);
  } catch (const c10::Error& e) {
    return fail(TFX_RUNTIME, e.what_without_backtrace(), w, n, o);
  } catch (const Fault& e) {
    return fail(TFX_INTERNAL, e.what(), w, n, o);
  } catch (const std::bad_alloc& e) {
    return fail(TFX_MEMORY, "out of memory", w, n, o);
  } catch (const std::exception& e) {
    return fail(TFX_RUNTIME, e.what(), w, n, o);
  } catch (...) {
    return fail(TFX_RUNTIME, "an exception that is no std::exception", w, n, o);
  }
}

}  // namespace tfx
