// Values between the word stream and libtorch's IValue.
#pragma once

#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/scalar_tensor.h>

#include <cstring>
#include <stdexcept>

#include "tfx.h"

namespace tfx {

// A Fault is a disagreement between the two sides of the bridge.
struct Fault : std::logic_error {
  using std::logic_error::logic_error;
};

using TensorPtr = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
using GeneratorPtr = c10::intrusive_ptr<c10::GeneratorImpl>;

// tensor returns a new reference to the tensor behind a handle.
inline at::Tensor tensor(uint64_t handle) {
  return at::Tensor(TensorPtr::unsafe_reclaim_from_nonowning(reinterpret_cast<c10::TensorImpl*>(handle)));
}

// Peek borrows the tensor behind a handle for a scope, without counting.
class Peek {
 public:
  explicit Peek(uint64_t handle) : t_(TensorPtr::reclaim(reinterpret_cast<c10::TensorImpl*>(handle))) {}
  ~Peek() { t_.unsafeReleaseTensorImpl(); }
  Peek(const Peek&) = delete;
  Peek& operator=(const Peek&) = delete;
  const at::Tensor& operator*() const { return t_; }
  const at::Tensor* operator->() const { return &t_; }

 private:
  at::Tensor t_;
};

// owned returns the bytes that go when t, the only reference here, goes: those of a
// storage that nothing else holds. A view counts nothing, since its base has been
// counted, and so does an argument that comes back as the result.
inline uint64_t owned(const at::Tensor& t) {
  if (!t.defined() || t.use_count() != 1 || !t.has_storage() || t.is_meta()) return 0;
  const c10::Storage& s = t.unsafeGetTensorImpl()->unsafe_storage();
  return s && s.use_count() == 1 ? s.unsafeGetStorageImpl()->nbytes() : 0;
}

// small reports whether t keeps no more memory than TFX_SMALL, nor any that is not
// libtorch's.
inline bool small(const at::Tensor& t) {
  if (!t.defined() || !t.has_storage()) return false;
  const c10::StorageImpl* s = t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  return s != nullptr && s->allocator() != nullptr && !s->sym_nbytes().is_symbolic() && s->nbytes() <= TFX_SMALL;
}

inline double as_double(uint64_t w) {
  double d;
  std::memcpy(&d, &w, sizeof d);
  return d;
}

inline uint64_t as_word(double d) {
  uint64_t w;
  std::memcpy(&w, &d, sizeof w);
  return w;
}

// wrapped makes the tensor that stands for a number among tensors.
inline at::Tensor wrapped(const c10::Scalar& x) {
  const auto type = x.isFloatingPoint() ? c10::kDouble : x.isComplex() ? c10::kComplexDouble : x.isBoolean() ? c10::kBool : x.type() == c10::kUInt64 ? c10::kUInt64 : c10::kLong;
  at::Tensor t = type == c10::kUInt64 ? at::scalar_tensor(x, c10::TensorOptions(type)) : at::detail::scalar_tensor_static(x, type, c10::Device(c10::kCPU));
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}

// A Reader takes values from a stream of words.
class Reader {
 public:
  Reader(const uint64_t* words, uint64_t n) : p_(words), end_(words + n) {}
  bool done() const { return p_ == end_; }

  // raw is one word that is no value.
  uint64_t raw() { return next(); }

  void bytes(void* to, uint64_t n) {
    const uint64_t words = (n + 7) / 8;
    room(words);
    std::memcpy(to, p_, n);
    p_ += words;
  }

  // any reads a value of whatever kind; absent stands for one that cannot cross.
  c10::IValue any(const c10::IValue& absent) {
    if (p_ != end_ && (*p_ & 0xff) == TFX_ABSENT) return next(), absent;
    return value(*c10::AnyType::get());
  }

  // value reads one value for an argument of the given type. The type says what
  // the stream cannot: the element type of an empty list, and whether a list of
  // tensors is one of optional tensors.
  c10::IValue value(const c10::Type& type) {
    const uint64_t head = next();
    return head == TFX_TENSOR ? c10::IValue(tensor(next())) : other(head, type);
  }

 private:
  // other reads a value that is no tensor.
  c10::IValue other(uint64_t head, const c10::Type& type) {
    const uint64_t count = head >> 8;
    switch (head & 0xff) {
      case TFX_NONE: return {};
      case TFX_UNDEFINED: return at::Tensor();
      case TFX_WRAPPED: return wrapped(value(*c10::NumberType::get()).toScalar());
      case TFX_INT: return static_cast<int64_t>(next());
      case TFX_UINT: return static_cast<uint64_t>(next());
      case TFX_FLOAT: return as_double(next());
      case TFX_BOOL: return count != 0;
      case TFX_COMPLEX: {
        const double re = as_double(next());
        return c10::complex<double>(re, as_double(next()));
      }
      case TFX_STR: return str(count);
      case TFX_DEVICE: {
        const auto kind = static_cast<c10::DeviceType>(next());
        return c10::Device(kind, static_cast<c10::DeviceIndex>(next()));
      }
      case TFX_GENERATOR:
        return at::Generator(GeneratorPtr::unsafe_reclaim_from_nonowning(reinterpret_cast<c10::GeneratorImpl*>(next())));
      case TFX_OBJECT: return *reinterpret_cast<const c10::IValue*>(next());
      case TFX_TENSORS: return tensors(count, bare(type));
      case TFX_INTS: {
        room(count);
        c10::List<int64_t> list;
        list.reserve(count);
        for (uint64_t i = 0; i < count; i++) list.push_back(static_cast<int64_t>(next()));
        return list;
      }
      case TFX_FLOATS: {
        room(count);
        c10::List<double> list;
        list.reserve(count);
        for (uint64_t i = 0; i < count; i++) list.push_back(as_double(next()));
        return list;
      }
      case TFX_BOOLS: {
        room(count);
        c10::List<bool> list;
        list.reserve(count);
        for (uint64_t i = 0; i < count; i++) list.push_back(next() != 0);
        return list;
      }
      case TFX_LIST: {
        room(count);
        const c10::TypePtr elem = element(bare(type));
        c10::impl::GenericList list(elem);
        list.reserve(count);
        for (uint64_t i = 0; i < count; i++) list.push_back(value(*elem));
        return list;
      }
      case TFX_TUPLE: {
        room(count);
        const auto types = bare(type).containedTypes();
        std::vector<c10::IValue> items;
        items.reserve(count);
        for (uint64_t i = 0; i < count; i++) items.push_back(value(i < types.size() ? *types[i] : *c10::AnyType::get()));
        return c10::ivalue::Tuple::create(std::move(items));
      }
      case TFX_DICT: {
        room(count);
        const auto types = bare(type).containedTypes();
        const bool typed = bare(type).kind() == c10::TypeKind::DictType && types.size() == 2;
        c10::impl::GenericDict dict(typed ? types[0] : c10::TypePtr(c10::AnyType::get()), typed ? types[1] : c10::TypePtr(c10::AnyType::get()));
        for (uint64_t i = 0; i < count; i++) {
          auto key = value(*dict.keyType());
          dict.insert(std::move(key), value(*dict.valueType()));
        }
        return dict;
      }
    }
    throw Fault("bridge: unknown kind of value " + std::to_string(head & 0xff));
  }

  uint64_t next() {
    if (p_ == end_) throw Fault("bridge: the argument stream ends early");
    return *p_++;
  }

  // room refuses a count that the rest of the stream cannot hold.
  void room(uint64_t words) const {
    if (words > static_cast<uint64_t>(end_ - p_)) throw Fault("bridge: the argument stream ends early");
  }

  std::string str(uint64_t n) {
    const uint64_t words = (n + 7) / 8;
    room(words);
    std::string s(reinterpret_cast<const char*>(p_), n);
    p_ += words;
    return s;
  }

  c10::IValue tensors(uint64_t count, const c10::Type& type) {
    room(count);
    if (element(type)->kind() == c10::TypeKind::OptionalType) {
      c10::List<std::optional<at::Tensor>> list;
      list.reserve(count);
      for (uint64_t i = 0; i < count; i++) {
        const uint64_t h = next();
        list.push_back(h == 0 ? std::optional<at::Tensor>() : std::optional<at::Tensor>(tensor(h)));
      }
      return list;
    }
    c10::List<at::Tensor> list;
    list.reserve(count);
    for (uint64_t i = 0; i < count; i++) list.push_back(tensor(next()));
    return list;
  }

  static const c10::Type& bare(const c10::Type& t) {
    return t.kind() == c10::TypeKind::OptionalType ? *t.castRaw<c10::OptionalType>()->getElementType() : t;
  }

  static c10::TypePtr element(const c10::Type& t) {
    if (t.kind() == c10::TypeKind::ListType) return t.castRaw<c10::ListType>()->getElementType();
    return c10::AnyType::get();
  }

  const uint64_t* p_;
  const uint64_t* end_;
};

// A Writer puts values into the caller's words, and into memory of its own when
// they do not fit. Tensors in it are references that the caller owns.
class Writer {
 public:
  Writer(uint64_t* words, uint64_t n, tfx_out* out) : w_(words), cap_(n), out_(out) {}

  // tell makes the word of bytes after a tensor say whether it is small, in bit 63.
  void tell() { tells_ = true; }

  void word(uint64_t w) {
    if (used_ < cap_) {
      w_[used_++] = w;
    } else {
      spill(w);
    }
  }

  void head(tfx_kind kind, uint64_t count = 0) { word(static_cast<uint64_t>(kind) | count << 8); }

  void tensor(at::Tensor t) {
    if (!t.defined()) return head(TFX_UNDEFINED);
    head(TFX_TENSOR);
    handle(std::move(t));
  }

  void tensors(const c10::List<at::Tensor>& list) {
    const size_t n = list.size();
    head(TFX_TENSORS, n);
    const bool ours = list.use_count() == 1;  // or the list's references would count
    for (size_t i = 0; i < n; i++) handle(ours ? list.extract(i) : list.get(i));
  }

  void str(std::string_view s) {
    head(TFX_STR, s.size());
    for (size_t i = 0; i < s.size(); i += 8) {
      uint64_t w = 0;
      std::memcpy(&w, s.data() + i, std::min<size_t>(8, s.size() - i));
      word(w);
    }
  }

  __attribute__((noinline)) void value(c10::IValue&& v) {
    if (v.isTensor()) return tensor(std::move(v).toTensor());
    if (v.isNone()) return head(TFX_NONE);
    if (v.isInt()) return head(TFX_INT), word(v.toInt());
    if (v.isUnsigned()) return head(TFX_UINT), word(v.toUInt());
    if (v.isDouble()) return head(TFX_FLOAT), word(as_word(v.toDouble()));
    if (v.isBool()) return head(TFX_BOOL, v.toBool());
    if (v.isComplexDouble()) {
      const auto c = v.toComplexDouble();
      return head(TFX_COMPLEX), word(as_word(c.real())), word(as_word(c.imag()));
    }
    if (v.isString()) return str(v.toStringRef());
    if (v.isDevice()) {
      const auto d = v.toDevice();
      return head(TFX_DEVICE), word(static_cast<int64_t>(d.type())), word(static_cast<int64_t>(d.index()));
    }
    if (v.isTensorList()) return tensors(std::move(v).toTensorList());
    if (v.isIntList()) {
      const auto list = v.toIntList();
      head(TFX_INTS, list.size());
      for (const int64_t i : list) word(i);
      return;
    }
    if (v.isDoubleList()) {
      const auto list = v.toDoubleList();
      head(TFX_FLOATS, list.size());
      for (const double d : list) word(as_word(d));
      return;
    }
    if (v.isBoolList()) {
      const auto list = v.toBoolList();
      head(TFX_BOOLS, list.size());
      for (const bool b : list) word(b);
      return;
    }
    if (v.isList()) {
      const auto list = v.toListRef();
      head(TFX_LIST, list.size());
      for (const auto& item : list) value(c10::IValue(item));
      return;
    }
    if (v.isTuple()) {
      const auto& items = v.toTupleRef().elements();
      head(TFX_TUPLE, items.size());
      for (const auto& item : items) value(c10::IValue(item));
      return;
    }
    if (v.isGenericDict()) {
      const auto dict = v.toGenericDict();
      head(TFX_DICT, dict.size());
      for (const auto& entry : dict) value(c10::IValue(entry.key())), value(c10::IValue(entry.value()));
      return;
    }
    if (v.isGenerator()) {
      head(TFX_GENERATOR);
      return word(reinterpret_cast<uint64_t>(v.toGenerator().unsafeReleaseGeneratorImpl()));
    }
    const std::string name = v.isObject() || v.isCustomClass() ? v.type()->annotation_str() : v.tagKind();
    head(TFX_OBJECT);
    word(reinterpret_cast<uint64_t>(new c10::IValue(std::move(v))));
    str(name);
  }

  void finish() {
    out_->used = used_;
    if (!spill_.empty()) heap();
  }

 private:
  // apart, so that what happens nearly always is inlined
  __attribute__((noinline)) void spill(uint64_t w) {
    if (spill_.empty()) spill_.assign(w_, w_ + used_);
    spill_.push_back(w);
    used_++;
  }

  __attribute__((noinline)) void heap() {
    void* heap = std::malloc(spill_.size() * sizeof(uint64_t));
    if (heap == nullptr) throw std::bad_alloc();
    std::memcpy(heap, spill_.data(), spill_.size() * sizeof(uint64_t));
    out_->heap = reinterpret_cast<uint64_t>(heap);
  }

  // handle writes a reference and its bytes; an undefined tensor is 0 here.
  void handle(at::Tensor t) {
    const uint64_t bytes = owned(t) | static_cast<uint64_t>(tells_ && small(t)) << 63;
    word(t.defined() ? reinterpret_cast<uint64_t>(t.unsafeReleaseTensorImpl()) : 0);
    word(bytes);
  }

  uint64_t* w_;
  uint64_t cap_, used_ = 0;
  bool tells_ = false;
  tfx_out* out_;
  std::vector<uint64_t> spill_;
};

}  // namespace tfx
