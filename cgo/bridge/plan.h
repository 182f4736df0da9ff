// Plans: a compiled graph is a list of steps over numbered slots. This file holds
// the program and how it is read from the word stream; planwatch.h and planmemory.h
// plan where values lie, planrun.h runs.
#pragma once

#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "delegated.h"
#include "device.h"
#include "lanes.h"
#include "operator.h"
#include "planwatch.h"
#include "value.h"

namespace tfx {

// absent is what a slot holds whose value only the Go side can hold. It fits no
// argument, so that a step which reads it is left to Go.
inline const c10::IValue& absent() {
  static const auto* v = new c10::IValue(c10::IValue::make_capsule(c10::make_intrusive<torch::CustomClassHolder>()));
  return *v;
}

// What an argument of a schema takes. A value in a slot is of a kind that only
// the run knows: it is compared with this before a kernel sees it.
enum class Want : uint8_t { kTensor, kInt, kFloat, kBool, kNumber, kString, kDevice, kTensors, kOptionalTensors, kInts, kFloats, kBools, kOther };

// An Operand is one argument of a step: a constant, a slot, or a list of both.
struct Operand {
  enum Kind : uint8_t { kConstant, kSlot, kList };

  c10::IValue value;  // of a constant
  std::unique_ptr<std::vector<Operand>> items;
  int32_t slot = -1;
  int32_t fixed = 0;  // length of a list that the schema fixes, 0 for none
  Kind kind = kConstant;
  Want want = Want::kOther;
  bool optional = false;
  bool strict = false;  // a number is no tensor here
};

// A LaneRule says how a pointwise operator is done on lanes.
struct LaneRule {
  enum Kind : uint8_t {
    kUnary,
    kBinary,
    kZero,     // with the number 0
    kNumber,   // with its second argument
    kNumbers,  // with its second argument, and second with its third
  } kind;
  Lane code, second = Lane::Load;
};

// lane_rule is that of an operator, null for none.
inline const LaneRule* lane_rule(const c10::FunctionSchema& schema) {
  using R = LaneRule;
  static const auto* all = new std::unordered_map<std::string, R>{
      {"aten::add.Tensor", {R::kBinary, Lane::Add}},
      {"aten::sub.Tensor", {R::kBinary, Lane::Sub}},
      {"aten::mul.Tensor", {R::kBinary, Lane::Mul}},
      {"aten::div.Tensor", {R::kBinary, Lane::Div}},
      {"aten::maximum", {R::kBinary, Lane::Maximum}},
      {"aten::minimum", {R::kBinary, Lane::Minimum}},
      {"aten::neg", {R::kUnary, Lane::Neg}},
      {"aten::abs", {R::kUnary, Lane::Abs}},
      {"aten::rsqrt", {R::kUnary, Lane::Rsqrt}},
      {"aten::reciprocal", {R::kUnary, Lane::Reciprocal}},
      {"aten::sigmoid", {R::kUnary, Lane::Sigmoid}},
      {"aten::silu", {R::kUnary, Lane::Silu}},
      {"aten::relu", {R::kZero, Lane::ClampMin}},
      {"aten::clamp_min", {R::kNumber, Lane::ClampMin}},
      {"aten::clamp_max", {R::kNumber, Lane::ClampMax}},
      {"aten::clamp", {R::kNumbers, Lane::ClampMin, Lane::ClampMax}},
      {"aten::hardtanh", {R::kNumbers, Lane::ClampMin, Lane::ClampMax}},
  };
  const auto found = all->find(schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name());
  return found == all->end() ? nullptr : &found->second;
}

// reduction reports whether an operator reduces (self, dim, keepdim), each row of
// its last dimensions by itself.
inline bool reduction(const c10::FunctionSchema& schema) {
  static const auto* all = new std::unordered_set<std::string>{"aten::sum.dim_IntList", "aten::mean.dim", "aten::amax", "aten::amin"};
  return all->count(schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name()) > 0;
}

// An Overload is one operator that a step may call, with its arguments in place.
struct Overload {
  const Op* op = nullptr;
  const Op* out = nullptr;  // the same into given memory; null for none
  // The CPU's kernel of out, called without asking the dispatcher which: planned
  // results and their arguments are ordinary CPU tensors, and of what the layers
  // above do for those, counting versions for autograd, nobody learns.
  std::optional<c10::SafeKernelFunction> kernel;
  const LaneRule* lane = nullptr;
  bool pointwise = false;   // element by element, in the words of its tags
  bool reduces = false;     // over dimensions, as sum.dim_IntList
  bool composite = false;   // made of other operators, which autograd is to see
  bool python = false;      // arguments are matched as torch.add does it, not torch.ops.aten.add
  std::vector<Operand> args;
};

struct Step {
  uint32_t code = 0;
  uint32_t number = 0;  // of CALL, the arithmetic of two numbers; of SIZE, what is read
  bool plain = false;   // the layout of its results follows from that of the inputs
  bool pointwise = false;
  bool tuples = false;
  bool opaque = false;  // its results may hold references that nobody sees
  bool writes = false;  // an argument, perhaps a constant
  bool fresh = false;   // no result shares memory with an argument, and none is written
  std::vector<Operand> operands;
  std::vector<Overload> overloads;
  std::vector<int32_t> results;  // slots
  std::vector<int32_t> written;  // slots whose memory it writes
  std::vector<int32_t> slots;    // of GO and DONE, what is handed over
  std::vector<int32_t> frees;    // slots to empty afterwards
  int64_t target = 0;            // of jumps, a step; of ENTER, a mode; of DELEGATE, its number among those
};

// each_slot calls f with the slots that a step reads.
template <class F>
void each_slot(const Step& s, F&& f) {
  const auto walk = [&](const auto& self, const std::vector<Operand>& list) -> void {
    for (const Operand& o : list) {
      if (o.kind == Operand::kSlot) f(o.slot);
      if (o.kind == Operand::kList) self(self, *o.items);
    }
  };
  walk(walk, s.operands);
  for (const Overload& o : s.overloads) walk(walk, o.args);
}

// What pointwise steps are done together: none, those that it makes faster, or for
// tests all that can be.
enum class Fusion : uint8_t { kNone, kGaining, kAll };

// A Plan is immutable, except for the layouts that it learns.
struct Plan {
  std::vector<Step> steps;
  std::vector<tfx_mode> modes;
  std::vector<int32_t> inputs;  // the slots that the layouts are keyed by
  std::vector<uint8_t> pinned;  // slots whose memory is not planned
  int32_t slots = 0;
  int64_t regions = 0;  // steps that delegates do
  bool below_autograd = false;
  Fusion fusion = Fusion::kNone;
  std::optional<c10::Device> device;  // where it runs; none for where its tensors are
  bool host_results = false;          // of a device: results are copied to the CPU
  uint64_t graphs = 0;                // of a device: how many shape classes are captured, a frame
  Layouts layouts;
};

// A PlanReader reads a program. It trusts the caller, which is this library's Go
// side, except for what would read or write out of bounds.
class PlanReader {
 public:
  PlanReader(const uint64_t* words, uint64_t n) : in_(words, n) {}

  std::unique_ptr<Plan> plan() {
    auto p = std::make_unique<Plan>();
    p->slots = static_cast<int32_t>(count(1u << 28));
    slots_ = p->slots;
    p->below_autograd = in_.raw() != 0;
    p->fusion = static_cast<Fusion>(count(2));
    if (in_.raw() != 0) {
      const auto kind = static_cast<int32_t>(in_.raw());
      p->device = device_of(kind, static_cast<int32_t>(in_.raw()));
      p->host_results = in_.raw() != 0;
      p->graphs = count(1u << 10);
    }
    p->pinned.resize(p->slots);
    for (const int32_t s : slot_list()) p->pinned[s] = 1;
    p->inputs = slot_list();
    for (uint64_t n = count(1u << 16); n > 0; n--) {
      tfx_mode m;
      in_.bytes(&m, sizeof m);
      p->modes.push_back(m);
    }
    const uint64_t steps = count(1u << 24);
    p->steps.reserve(steps);
    for (uint64_t i = 0; i < steps; i++) {
      p->steps.push_back(step(*p, steps));
      if (p->steps.back().code == TFX_STEP_DELEGATE) p->steps.back().target = p->regions++;
    }
    if (!in_.done()) throw Fault("bridge: words after the plan");
    if (p->steps.empty() || p->steps.back().code != TFX_STEP_DONE) throw Fault("bridge: a plan without an end");
    if (p->below_autograd) p->below_autograd = backends(*p);
    return p;
  }

 private:
  uint64_t count(uint64_t most) {
    const uint64_t n = in_.raw();
    if (n > most) throw Fault("bridge: a number in the plan is too large");
    return n;
  }

  int32_t slot() {
    const uint64_t s = in_.raw();
    if (s >= static_cast<uint64_t>(slots_)) throw Fault("bridge: a slot that the plan does not have");
    return static_cast<int32_t>(s);
  }

  std::vector<int32_t> slot_list() {
    std::vector<int32_t> list(count(1u << 24));
    for (auto& s : list) s = slot();
    return list;
  }

  Step step(const Plan& p, uint64_t steps) {
    Step s;
    s.code = static_cast<uint32_t>(in_.raw());
    const uint64_t flags = in_.raw();
    s.plain = flags & TFX_PLAIN;
    s.pointwise = flags & TFX_POINTWISE;
    s.opaque = flags & TFX_HIDES;
    s.tuples = flags & TFX_TUPLES;
    s.writes = flags & TFX_WRITES;
    s.fresh = flags & TFX_FRESH;
    s.number = static_cast<uint32_t>(in_.raw());
    s.target = static_cast<int64_t>(in_.raw());
    s.results = slot_list();
    s.written = slot_list();
    s.slots = slot_list();
    s.frees = slot_list();
    for (uint64_t n = count(1u << 20); n > 0; n--) s.operands.push_back(operand(*c10::AnyType::get(), 0));
    for (uint64_t n = count(1u << 10); n > 0; n--) s.overloads.push_back(overload());
    check(p, s, steps);
    return s;
  }

  // check refuses what run would not look at.
  static void check(const Plan& p, const Step& s, uint64_t steps) {
    const auto need = [](bool ok) {
      if (!ok) throw Fault("bridge: a step of the plan is malformed");
    };
    switch (s.code) {
      case TFX_STEP_CALL: need(s.number == 0 ? !s.overloads.empty() : s.operands.size() == 2 && s.results.size() == 1); break;
      case TFX_STEP_MOVE: need(s.operands.size() == s.results.size()); break;
      case TFX_STEP_JUMP: need(s.target >= 0 && static_cast<uint64_t>(s.target) < steps); break;
      case TFX_STEP_UNLESS:
        need(s.target >= 0 && static_cast<uint64_t>(s.target) < steps && s.operands.size() == 1 && s.results.size() == 1);
        break;
      case TFX_STEP_SIZE: need(!s.operands.empty() && s.results.size() == 1); break;
      case TFX_STEP_ITEM: need(s.operands.size() == 2 && s.results.size() == 1); break;
      case TFX_STEP_ENTER: need(s.target >= 0 && static_cast<size_t>(s.target) < p.modes.size()); break;
      case TFX_STEP_GO: need(s.results.size() <= 1); break;
      case TFX_STEP_DELEGATE: need(!s.operands.empty() && region_of(s.operands[0].value) != nullptr); break;
      case TFX_STEP_LEAVE:
      case TFX_STEP_DONE: break;
      default: need(false);
    }
  }

  Overload overload() {
    Overload o;
    o.op = reinterpret_cast<const Op*>(in_.raw());
    o.out = reinterpret_cast<const Op*>(in_.raw());
    o.python = in_.raw() != 0;
    o.pointwise = o.op->handle.hasTag(at::Tag::pointwise);
    if (o.pointwise) o.lane = lane_rule(o.op->handle.schema());
    o.reduces = reduction(o.op->handle.schema());
    o.composite = o.op->handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    const uint64_t n = count(1u << 16);
    if (n != o.op->types.size()) throw Fault("bridge: a call of another number of arguments than its schema has");
    const auto& schema = o.op->handle.schema().arguments();
    for (uint64_t i = 0; i < n; i++) o.args.push_back(operand(*o.op->types[i], schema[i].N().value_or(0)));
    // Kernels of both forms, registered for the backend itself, are one
    // implementation with two ways to its result; anything else may round
    // differently.
    if (o.out != nullptr && !(o.op->handle.hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
                              o.out->handle.hasKernelForDispatchKey(c10::DispatchKey::CPU))) {
      o.out = nullptr;
    }
    if (o.out != nullptr) o.kernel.emplace(o.out->handle.getComputedKernelForDispatchKey(c10::DispatchKey::CPU));
    return o;
  }

  Operand operand(const c10::Type& type, int32_t fixed) {
    Operand a;
    const uint64_t head = in_.raw();
    a.strict = head & 0x100;
    classify(type, a);
    a.fixed = fixed;
    switch (head & 0xff) {
      case Operand::kConstant:
        a.value = type.kind() == c10::TypeKind::AnyType ? in_.any(absent()) : in_.value(type);
        return a;
      case Operand::kSlot:
        a.kind = Operand::kSlot;
        a.slot = slot();
        return a;
      case Operand::kList: {
        a.kind = Operand::kList;
        a.items = std::make_unique<std::vector<Operand>>();
        const c10::Type& bare = bare_type(type);
        const c10::TypePtr elem = bare.kind() == c10::TypeKind::ListType ? bare.castRaw<c10::ListType>()->getElementType() : c10::TypePtr(c10::AnyType::get());
        for (uint64_t n = count(1u << 20); n > 0; n--) a.items->push_back(operand(*elem, 0));
        return a;
      }
    }
    throw Fault("bridge: unknown kind of operand");
  }

  static const c10::Type& bare_type(const c10::Type& t) {
    return t.kind() == c10::TypeKind::OptionalType ? *t.castRaw<c10::OptionalType>()->getElementType() : t;
  }

  static void classify(const c10::Type& type, Operand& a) {
    a.optional = type.kind() == c10::TypeKind::OptionalType;
    const c10::Type& t = bare_type(type);
    switch (t.kind()) {
      case c10::TypeKind::TensorType: a.want = Want::kTensor; return;
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: a.want = Want::kInt; return;
      case c10::TypeKind::FloatType:
      case c10::TypeKind::SymFloatType: a.want = Want::kFloat; return;
      case c10::TypeKind::BoolType:
      case c10::TypeKind::SymBoolType: a.want = Want::kBool; return;
      case c10::TypeKind::NumberType: a.want = Want::kNumber; return;
      case c10::TypeKind::StringType: a.want = Want::kString; return;
      case c10::TypeKind::DeviceObjType: a.want = Want::kDevice; return;
      case c10::TypeKind::ListType: break;
      default: a.want = Want::kOther; return;
    }
    const c10::TypePtr elem = t.castRaw<c10::ListType>()->getElementType();
    switch (elem->kind()) {
      case c10::TypeKind::TensorType: a.want = Want::kTensors; return;
      case c10::TypeKind::OptionalType:
        a.want = bare_type(*elem).kind() == c10::TypeKind::TensorType ? Want::kOptionalTensors : Want::kOther;
        return;
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: a.want = Want::kInts; return;
      case c10::TypeKind::FloatType: a.want = Want::kFloats; return;
      case c10::TypeKind::BoolType: a.want = Want::kBools; return;
      default: a.want = Want::kOther;
    }
  }

  // backends reports whether every operator runs without the layer of autograd,
  // which in a run without gradients only passes calls on. An operator of
  // somebody else may do more there, and some refuse tensors there: views, and those
  // that require gradients.
  static bool backends(const Plan& p) {
    static const std::unordered_set<std::string> refusing = {"aten::detach_", "aten::resize_", "aten::resize_as_", "aten::set_data"};
    const c10::DispatchKey key = p.device ? c10::computeDispatchKey(c10::kFloat, c10::kStrided, *p.device) : c10::DispatchKey::CPU;
    for (const Step& s : p.steps) {
      for (const Overload& o : s.overloads) {
        if (refusing.count(o.op->handle.schema().name()) > 0) return false;
        if (!o.op->handle.hasComputedKernelForDispatchKey(key)) return false;
      }
    }
    return true;
  }

  Reader in_;
  int32_t slots_ = 0;
};

}  // namespace tfx
