// Calls of an operator of which all is settled but what each call brings.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "operator.h"

namespace tfx {

// A Prepared makes the arguments of its operator from the slots of a call.
class Prepared {
 public:
  Prepared(const Op& op, const uint64_t* words, uint64_t n) : op(op) {
    Reader in(words, n);
    for (const auto& type : op.types) {
      const uint64_t word = in.raw();
      const Step s{static_cast<uint8_t>(word & 0xff), static_cast<uint32_t>(args_.size()), static_cast<uint32_t>(word >> 8 & 0xffffff), static_cast<uint32_t>(word >> 32)};
      if (s.kind == TFX_ARG_CONSTANT) {
        args_.push_back(in.value(*type));
        continue;
      }
      args_.emplace_back();
      steps_.push_back(s);
      needs_ = std::max<uint64_t>(needs_, s.slot + (s.kind == TFX_ARG_ROW ? s.count : 1));
    }
    if (!in.done()) throw Fault("bridge: more arguments than the schema has");
  }

  uint64_t slots() const { return needs_; }

  void push(torch::jit::Stack& stack, Lists& lists, const uint64_t* slots, uint64_t n) const {
    if (n < needs_) throw Fault("bridge: fewer slots than the call has");
    stack.assign(args_.begin(), args_.end());
    for (const Step& s : steps_) stack[s.arg] = s.kind == TFX_ARG_TENSOR ? c10::IValue(tensor(slots[s.slot])) : value(s, lists, slots, n);
  }

  const Op& op;

 private:
  struct Step {
    uint8_t kind;
    uint32_t arg, slot, count;
  };

  // apart, as most arguments are tensors or constant
  __attribute__((noinline)) c10::IValue value(const Step& s, Lists& lists, const uint64_t* slots, uint64_t n) const {
    const uint64_t v = slots[s.slot];
    switch (s.kind) {
      case TFX_ARG_INT: return static_cast<int64_t>(v);
      case TFX_ARG_FLOAT: return as_double(v);
      case TFX_ARG_REAL: return static_cast<double>(static_cast<int64_t>(v));
      case TFX_ARG_BOOL: return v != 0;
      case TFX_ARG_DEVICE: return c10::Device(static_cast<c10::DeviceType>(v & 0xff), static_cast<c10::DeviceIndex>(static_cast<int64_t>(v) >> 8));
      case TFX_ARG_GENERATOR: return at::Generator(GeneratorPtr::unsafe_reclaim_from_nonowning(reinterpret_cast<c10::GeneratorImpl*>(v)));
      case TFX_ARG_STR: return lists.text(reinterpret_cast<const char*>(within(slots, n, v, ((v >> 32) + 7) / 8)), v >> 32);
      case TFX_ARG_INTS: return lists.ints(within(slots, n, v, v >> 32), v >> 32, 1);
      case TFX_ARG_ROW: return lists.ints(slots + s.slot, s.count, 1);
      case TFX_ARG_TIMES: return lists.ints(slots + s.slot, s.count, 0);
      case TFX_ARG_TENSORS: {
        const uint64_t* items = within(slots, n, v, v >> 32);
        const auto& list = lists.tensors();
        for (uint64_t i = 0; i < v >> 32; i++) list.push_back(tensor(items[i]));
        return list;
      }
      case TFX_ARG_WRAPPED + TFX_ARG_INT: return wrapped(static_cast<int64_t>(v));
      case TFX_ARG_WRAPPED + TFX_ARG_FLOAT: return wrapped(as_double(v));
      case TFX_ARG_WRAPPED + TFX_ARG_BOOL: return wrapped(v != 0);
    }
    throw Fault("bridge: unknown kind of argument " + std::to_string(s.kind));
  }

  // within is where the items of a list are, which lie behind the slots.
  static const uint64_t* within(const uint64_t* slots, uint64_t n, uint64_t v, uint64_t words) {
    const uint64_t first = v & 0xffffffff;
    if (first > n || words > n - first) throw Fault("bridge: a list beyond the slots");
    return slots + first;
  }

  std::vector<c10::IValue> args_;  // the constants in their places
  std::vector<Step> steps_;        // the others
  uint64_t needs_ = 0;
};

// prepare finds a call that was prepared in the same words, so that programs that come
// and go leave no more behind than they differ.
inline int32_t prepare(uint64_t op, const uint64_t* words, uint64_t nwords, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    static std::mutex mu;
    static auto* all = new std::map<std::pair<uint64_t, std::vector<uint64_t>>, std::unique_ptr<Prepared>>();
    std::lock_guard<std::mutex> lock(mu);
    auto& p = (*all)[{op, {words, words + nwords}}];
    if (p == nullptr) p = std::make_unique<Prepared>(*reinterpret_cast<const Op*>(op), words, nwords);
    out.word(reinterpret_cast<uint64_t>(p.get()));
  });
}

inline void run(const Prepared& p, const uint64_t* slots, uint64_t nslots, Writer& out) {
  Thread& here = Thread::current();
  Stack borrowed(here);
  torch::jit::Stack& stack = *borrowed;
  p.push(stack, here.lists, slots, nslots);
  call_usual(here, p.op, stack);
  out.tell();
  for (auto& v : stack) {
    if (v.isTensor()) {
      out.tensor(std::move(v).toTensor());
    } else if (p.op.lists_tensors) {
      out.tensors(std::move(v).toTensorList());
    } else {
      out.value(std::move(v));
    }
  }
}

// call_prepared is one function in one piece: between the kernels of two calls, its lines
// leave the processor's caches, and each call in it costs as much as a dozen of
// instructions.
__attribute__((flatten)) inline void call_prepared(uint64_t handle, const uint64_t* slots, uint64_t nslots, const uint64_t* last, uint64_t nlast, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  o->code = guarded(w, n, o, [&](Writer& out) {
    run(*reinterpret_cast<const Prepared*>(handle), slots, nslots, out);
    // not before the results: the bytes of one that shares a storage are counted once
    for (uint64_t i = 0; i < nlast; i++) {
      if (last[i] != 0) TensorPtr::reclaim(reinterpret_cast<c10::TensorImpl*>(last[i]));
    }
  });
}

}  // namespace tfx
