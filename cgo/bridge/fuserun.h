// Running groups: block after block, stage after stage.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/Version.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstring>

#include "fuse.h"

namespace tfx {

// element is what a tensor of one holds, as a T.
template <class T>
T element(const at::Tensor& t) {
  const void* const p = t.const_data_ptr();
  switch (t.scalar_type()) {
    case c10::kFloat: return static_cast<T>(*static_cast<const float*>(p));
    case c10::kDouble: return static_cast<T>(*static_cast<const double*>(p));
    case c10::kLong: return static_cast<T>(*static_cast<const int64_t*>(p));
    case c10::kInt: return static_cast<T>(*static_cast<const int32_t*>(p));
    case c10::kShort: return static_cast<T>(*static_cast<const int16_t*>(p));
    case c10::kChar: return static_cast<T>(*static_cast<const int8_t*>(p));
    case c10::kByte: return static_cast<T>(*static_cast<const uint8_t*>(p));
    case c10::kBool: return static_cast<T>(*static_cast<const bool*>(p));
    case c10::kUInt16: return static_cast<T>(*static_cast<const uint16_t*>(p));
    case c10::kUInt32: return static_cast<T>(*static_cast<const uint32_t*>(p));
    case c10::kUInt64: return static_cast<T>(*static_cast<const uint64_t*>(p));
    case c10::kHalf: return static_cast<T>(static_cast<float>(*static_cast<const c10::Half*>(p)));
    case c10::kBFloat16: return static_cast<T>(static_cast<float>(*static_cast<const c10::BFloat16*>(p)));
    default: throw Fault("bridge: a number of an unexpected dtype in a group");
  }
}

// number is the element of a tensor of one, converted as kernels convert it. Which
// NaN becomes of one depends on how the conversion was compiled: that one is made by
// libtorch.
inline double number(const at::Tensor& t, c10::ScalarType to) {
  const double x = to == c10::kFloat ? static_cast<double>(element<float>(t)) : element<double>(t);
  return x == x || t.scalar_type() == to ? x : number(t.to(to), to);
}

// A Bench is what one thread needs to do a group: scratch memory, and the kernels
// with tensors that look at the block.
class Bench {
 public:
  Bench(const Plan& plan, const Group& g) : g_(g), spread_(g.inputs.size()), at_(g.inputs.size() + g.outputs.size() + g.scratches), index_(g.axis) {
    const int64_t room = (g.block() * g.width + 63) / 64 * 64;
    if (g.scratches > 0) scratch_ = c10::GetCPUAllocator()->allocate(room * g.scratches);
    for (int32_t s = 0; s < g.scratches; s++) at_[at_.size() - g.scratches + s] = static_cast<char*>(scratch_.get()) + s * room;
    for (const Stage& s : g.stages) {
      lanes_.push_back(s.lanes);
      calls_.emplace_back();
      if (s.dtype != c10::ScalarType::Undefined || s.nearest != nullptr) continue;
      calls_.back().overload = &plan.steps[s.step].overloads[s.overload];
      for (const Operand& a : calls_.back().overload->args) calls_.back().args.push_back(a.value);
      if (s.reduces != 0) {  // of rows as blocks have them
        calls_.back().args[1] = std::vector<int64_t>{1};
        calls_.back().args[2] = false;
      }
    }
  }

  // begin takes the tensors of a run.
  void begin(const std::vector<at::Tensor>& in, const std::vector<at::Tensor>& out) {
    in_.clear();
    out_.clear();
    for (const at::Tensor& t : in) in_.push_back(static_cast<char*>(const_cast<void*>(t.const_data_ptr())));
    for (const at::Tensor& t : out) out_.push_back(static_cast<char*>(t.unsafeGetTensorImpl()->mutable_data()));
    std::fill(spread_.begin(), spread_.end(), 0);
    for (size_t i = 0; i < g_.stages.size(); i++) {
      const Stage& s = g_.stages[i];
      for (const Number& n : s.numbers) lanes_[i][n.at].number = number(in[n.input], s.dtype);
      for (size_t a = 0; a < s.args.size(); a++) {
        if (!one(s, a)) continue;
        const at::Tensor& t = in[s.args[a]];
        calls_[i].args[a] = t.dim() == 0 ? t : at::as_strided(t, {1}, {1});
      }
    }
  }

  // end lets go of what begin has taken.
  void end() {
    for (size_t i = 0; i < g_.stages.size(); i++) {
      for (size_t a = 0; a < g_.stages[i].args.size(); a++) {
        if (one(g_.stages[i], a)) calls_[i].args[a] = c10::IValue();
      }
    }
  }

  // block does block b.
  void block(int64_t b, torch::jit::Stack& stack) {
    const int64_t size = g_.sizes[g_.axis], per = at::divup(g_.share, g_.rows), shares = at::divup(size, g_.share);
    int64_t outer = b / (per * shares);
    const int64_t begin = b / per % shares * g_.share, first = begin + b % per * g_.rows;
    const int64_t rows = std::min({g_.rows, begin + g_.share - first, size - first});
    if (rows <= 0) return;
    const int64_t start = (outer * size + first) * g_.inner;
    for (size_t d = g_.axis; d-- > 0; outer /= g_.sizes[d]) index_[d] = outer % g_.sizes[d];
    for (size_t i = 0; i < in_.size(); i++) {
      const Input& in = g_.inputs[i];
      int64_t offset = first * in.strides[g_.axis];
      for (size_t d = 0; d < g_.axis; d++) offset += index_[d] * in.strides[d];
      at_[i] = in_[i] + offset * static_cast<int64_t>(c10::elementSize(in.shape.dtype));
      if (in.spread >= 0) spread(i, rows);
    }
    for (size_t o = 0; o < out_.size(); o++) {
      at_[in_.size() + o] = out_[o] + start / g_.outputs[o].per * static_cast<int64_t>(c10::elementSize(g_.outputs[o].shape.dtype));
    }
    for (size_t i = 0; i < g_.stages.size(); i++) {
      const Stage& s = g_.stages[i];
      switch (s.dtype) {
        case c10::kFloat: lanes().f32(lanes_[i].data(), static_cast<int64_t>(lanes_[i].size()), at_.data(), rows * g_.inner); break;
        case c10::kDouble: lanes().f64(lanes_[i].data(), static_cast<int64_t>(lanes_[i].size()), at_.data(), rows * g_.inner); break;
        default:
          if (s.nearest != nullptr) {
            nearest_.run(*s.nearest, reinterpret_cast<const float*>(at_[s.from]), reinterpret_cast<float*>(at_[s.result]), rows * g_.inner);
          } else {
            kernel(s, calls_[i], rows, stack);
          }
      }
    }
  }

 private:
  // A Call is a kernel and its arguments.
  struct Call {
    const Overload* overload = nullptr;
    std::vector<c10::IValue> args;
    at::Tensor result;
    std::vector<std::pair<int32_t, c10::StorageImpl*>> moving;  // with the block: memory, and what looks at it
    int64_t rows = 0;                                           // that they are for
  };

  // one reports whether an argument of a kernel is an input of one element, which
  // is the same for every block.
  bool one(const Stage& s, size_t arg) const {
    const int32_t m = s.args[arg];
    return m >= 0 && static_cast<size_t>(m) < g_.inputs.size() && g_.inputs[m].scalar;
  }

  void kernel(const Stage& s, Call& c, int64_t rows, torch::jit::Stack& stack) {
    if (c.rows != rows) prepare(s, c, rows);
    for (const auto& [memory, storage] : c.moving) storage->set_data_ptr_noswap(c10::DataPtr(at_[memory], c10::Device(c10::kCPU)));
    stack.insert(stack.end(), c.args.begin(), c.args.end());
    stack.emplace_back(c.result);
    c.overload->kernel->callBoxed(c.overload->out->handle, c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    stack.clear();
  }

  // prepare makes the tensors that look at a block of as many rows.
  void prepare(const Stage& s, Call& c, int64_t rows) {
    c.moving.clear();
    c.rows = rows;
    std::vector<int64_t> sizes{rows}, strides(g_.sizes.size() - g_.axis);
    sizes.insert(sizes.end(), g_.sizes.begin() + static_cast<int64_t>(g_.axis) + 1, g_.sizes.end());
    const auto look = [&](int32_t m, c10::ScalarType dtype) {
      int64_t dense = 1;
      for (size_t d = sizes.size(); d-- > 0; dense *= sizes[d]) strides[d] = static_cast<size_t>(m) < in_.size() ? g_.inputs[m].strides[g_.axis + d] : dense;
      at::Tensor t(at::detail::empty_cpu({0}, dtype));
      c10::StorageImpl* const storage = t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
      storage->set_nbytes(SIZE_MAX / 2);  // of memory that is not its own
      t.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, c10::IntArrayRef(strides).slice(0, sizes.size()), 0);
      c.moving.emplace_back(m, storage);
      return t;
    };
    if (s.reduces != 0) {
      const int64_t n = rows * g_.inner / s.reduces;
      sizes = {n, s.reduces};
      strides.resize(2);
      c.args[0] = look(s.args[0], s.dtypes[0]);
      sizes = {n};
      c.result = look(s.result, s.made);
      return;
    }
    for (size_t a = 0; a < s.args.size(); a++) {
      const int32_t m = s.args[a];
      if (m >= 0 && !one(s, a)) c.args[a] = look(m, s.dtypes[a]);
    }
    c.result = look(s.result, s.made);
  }

  // spread copies the block of an input that is broadcast or strided to where
  // lanes find it in step. One that is the same for every block is copied once.
  void spread(size_t i, int64_t rows) {
    const Input& in = g_.inputs[i];
    if (spread_[i] >= rows) return;
    const bool same = std::all_of(in.strides.begin(), in.strides.begin() + static_cast<int64_t>(g_.axis) + 1, [](int64_t s) { return s == 0; });
    if (same) spread_[i] = rows;
    if (in.shape.dtype == c10::kFloat) {
      copy(reinterpret_cast<float*>(at_[in.spread]), reinterpret_cast<const float*>(at_[i]), in, rows, g_.axis);
    } else {
      copy(reinterpret_cast<double*>(at_[in.spread]), reinterpret_cast<const double*>(at_[i]), in, rows, g_.axis);
    }
  }

  template <class T>
  T* copy(T* to, const T* from, const Input& in, int64_t n, size_t d) const {
    const int64_t stride = in.strides[d];
    if (d + 1 < g_.sizes.size()) {
      for (int64_t k = 0; k < n; k++) to = copy(to, from + k * stride, in, g_.sizes[d + 1], d + 1);
      return to;
    }
    if (stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    } else if (stride == 0) {
      std::fill_n(to, n, *from);
    } else {
      for (int64_t k = 0; k < n; k++) to[k] = from[k * stride];
    }
    return to + n;
  }

  const Group& g_;
  std::vector<int64_t> spread_;  // by input, the rows that are spread already
  std::vector<char*> at_;        // the memories of the block
  std::vector<char*> in_, out_;  // of the whole
  std::vector<int64_t> index_;
  c10::DataPtr scratch_;
  std::vector<std::vector<LaneOp>> lanes_;
  std::vector<Call> calls_;
  NearestRun nearest_;
};

// A GroupRun is what a frame keeps of a group.
struct GroupRun {
  std::vector<at::Tensor> in;  // taken so far
  std::vector<std::unique_ptr<Bench>> benches;

  // take keeps the inputs that a step is the first to read: until the last step of
  // the group their slots may be emptied.
  void take(const Plan& plan, const Group& g, const std::vector<c10::IValue>& slots, int32_t step) {
    while (in.size() < g.inputs.size() && g.inputs[in.size()].step == step) {
      const Input& i = g.inputs[in.size()];
      in.push_back(i.slot >= 0 ? slots[i.slot].toTensor() : plan.steps[i.step].overloads[i.overload].args[i.arg].value.toTensor());
    }
  }

  // clear lets go of the tensors of a run.
  void clear() {
    in.clear();
    for (const auto& b : benches) b->end();
  }

  // run does the group, and between blocks looks whether it is to stop.
  void run(const Plan& plan, const Group& g, const std::vector<at::Tensor>& out, torch::jit::Stack& stack, const std::atomic<int32_t>& stop) {
    bool fits = in.size() == g.inputs.size();
    for (size_t i = 0; fits && i < in.size(); i++) fits = g.inputs[i].shape.describes(in[i]);
    if (!fits) throw Fault("bridge: a group is given other tensors than it was formed for");
    while (static_cast<int64_t>(benches.size()) < g.threads) benches.push_back(std::make_unique<Bench>(plan, g));
    for (const auto& b : benches) b->begin(in, out);
    const int64_t each = at::divup(g.blocks, g.threads);
    const auto blocks = [&](int64_t thread, torch::jit::Stack& on) {
      const int64_t end = std::min(g.blocks, (thread + 1) * each);
      for (int64_t b = thread * each; b < end && stop.load(std::memory_order_relaxed) == 0; b++) benches[thread]->block(b, on);
    };
    if (g.threads == 1) {
      blocks(0, stack);
    } else {
      on_threads(g.threads, [&](int64_t from, int64_t to) {
        torch::jit::Stack own;
        for (int64_t thread = from; thread < to; thread++) blocks(thread, own);
      });
    }
    clear();
  }
};

}  // namespace tfx
