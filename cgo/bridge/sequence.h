// Sequences: calls of operators, one after the other in one crossing. What goes
// from one to the next stays on this side.
#pragma once

#include <vector>

#include "prepared.h"

namespace tfx {

// sequence makes the calls of code, each written as
//
//	prepared call, the registers of its tensors, how many registers to empty after it, and these
//
// Registers are first the inputs, of two words each: a handle, and whether the call takes it over; then the
// results, one of each call. What is left of them in the end, but for inputs that are
// lent, is returned after the number of calls that were made: a register and a tensor
// each.
//
// It stops before a call that fails or returns no tensor, and where *stop, which may
// be null, is not zero. The operators have no effects, so that the caller can repeat
// the call that failed to learn why.
inline int32_t sequence(const uint64_t* code, uint64_t ncode, const uint64_t* inputs, uint64_t ninputs, const int32_t* stop, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    std::vector<at::Tensor> registers;
    registers.reserve(ninputs + 64);
    for (uint64_t i = 0; i < ninputs; i++) {
      const uint64_t handle = inputs[2 * i];
      registers.push_back(inputs[2 * i + 1] != 0 ? at::Tensor(TensorPtr::reclaim(reinterpret_cast<c10::TensorImpl*>(handle))) : tensor(handle));
    }
    const auto at = [&](uint64_t r) -> at::Tensor& {
      if (r >= registers.size()) throw Fault("bridge: a sequence reads a register that it does not have");
      return registers[r];
    };
    Thread& here = Thread::current();
    Stack borrowed(here);
    torch::jit::Stack& stack = *borrowed;
    Reader in(code, ncode);
    std::vector<uint64_t> slots;
    uint64_t done = 0;
    for (; !in.done() && (stop == nullptr || __atomic_load_n(stop, __ATOMIC_RELAXED) == 0); done++) {
      const Prepared& p = *reinterpret_cast<const Prepared*>(in.raw());
      slots.clear();
      for (uint64_t i = 0; i < p.slots(); i++) slots.push_back(reinterpret_cast<uint64_t>(at(in.raw()).unsafeGetTensorImpl()));
      p.push(stack, here.lists, slots.data(), slots.size());
      try {
        call_usual(here, p.op, stack);
      } catch (...) {
        break;
      }
      if (stack.size() != 1 || !stack[0].isTensor() || !stack[0].toTensor().defined()) break;
      registers.push_back(std::move(stack[0]).toTensor());
      stack.clear();
      here.lists.end();
      for (uint64_t dead = in.raw(); dead > 0; dead--) at(in.raw()).reset();
    }
    stack.clear();
    out.word(done);
    for (uint64_t r = 0; r < registers.size(); r++) {
      if (!registers[r].defined() || (r < ninputs && inputs[2 * r + 1] == 0)) continue;
      out.word(r);
      out.tensor(std::move(registers[r]));
    }
  });
}

}  // namespace tfx
