// How groups are formed: which steps belong together, and the stages that do them.
#pragma once

#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan.h"

namespace tfx {

// is_number reports whether number (fuserun.h) reads elements of a dtype.
inline bool is_number(c10::ScalarType dtype) {
  return c10::isIntegralType(dtype, true) || dtype == c10::kFloat || dtype == c10::kDouble || dtype == c10::kHalf || dtype == c10::kBFloat16;
}

// exponential reports whether an operation has an exponential in it: lanes have that
// of float alone, and the elements that fill no vector have the C library's.
inline bool exponential(Lane code) { return code == Lane::Sigmoid || code == Lane::Silu; }

// lanes_for is how a step is done on lanes, null where it is not: all that has
// dimensions is of the dtype of the result, float or double, numbers are known,
// and a factor of the second argument is one.
inline const LaneRule* lanes_for(const Overload& o, const Point& p) {
  const LaneRule* const rule = o.lane;
  if (rule == nullptr || (p.shape.dtype != c10::kFloat && (p.shape.dtype != c10::kDouble || exponential(rule->code)))) return nullptr;
  for (const Reading& r : p.readings) {
    if (r.shape.sizes.empty() ? !is_number(r.shape.dtype) : r.shape.dtype != p.shape.dtype) return nullptr;
  }
  if (p.readings.size() != (rule->kind == LaneRule::kBinary ? 2 : 1)) return nullptr;
  if (rule->kind == LaneRule::kBinary) {
    return o.args.size() == 2 || (o.args[2].value.isScalar() && o.args[2].value.toScalar().equal(1)) ? rule : nullptr;
  }
  for (size_t i = 1; i < o.args.size(); i++) {  // of NaN, clamping makes a result of its own
    const c10::IValue& v = o.args[i].value;
    if (!v.isNone() && !(v.isScalar() && !v.toScalar().isComplex() && v.toScalar().to<double>() == v.toScalar().to<double>())) return nullptr;
  }
  return rule;
}

// even names the operators whose kernels give the same bits for an element
// wherever it lies, so that blocks and the split between threads do not matter.
inline bool even(const std::string& name) {
  static const std::unordered_set<std::string> all = {
      "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::bitwise_and", "aten::bitwise_or", "aten::bitwise_xor",
      "aten::bitwise_not", "aten::ceil", "aten::floor", "aten::trunc", "aten::round", "aten::sign", "aten::signbit", "aten::isposinf", "aten::isneginf",
      "aten::where",
  };
  return all.count(name) > 0;
}

// fails reports whether an operator can fail for the values of elements: then the
// step that fails has to be known.
inline bool fails(const std::string& name, c10::ScalarType dtype) {
  static const std::unordered_set<std::string> some = {"aten::div", "aten::remainder", "aten::fmod", "aten::pow", "aten::gcd", "aten::lcm",
                                                       "aten::bitwise_left_shift", "aten::bitwise_right_shift"};
  return c10::isIntegralType(dtype, true) && some.count(name) > 0;
}

// is_even is even for a step.
inline bool is_even(const Overload& o, const Point& p) {
  const LaneRule* const lane = lanes_for(o, p);
  if (lane == nullptr) return even(o.op->handle.schema().name());
  return lane->code != Lane::Maximum && lane->code != Lane::Minimum && !exponential(lane->code);  // which NaN they give
}

inline Lane form(Lane code, LaneForm f) { return static_cast<Lane>(static_cast<uint16_t>(code) + f); }

// straight names the operators whose kernels go through memory as it lies, whatever
// the order of dimensions. Others may look at it: gelu is oneDNN's on contiguous
// tensors alone.
inline bool straight(const std::string& name) {
  static const std::unordered_set<std::string> all = {"aten::sigmoid", "aten::silu", "aten::hardsigmoid", "aten::hardswish", "aten::leaky_relu", "aten::elu",
                                                      "aten::mish", "aten::softplus", "aten::tanh", "aten::exp", "aten::maximum", "aten::minimum"};
  return all.count(name) > 0;
}

inline bool contiguous(const Shape& s) {
  int64_t dense = 1;
  for (size_t d = s.sizes.size(); d-- > 0; dense *= s.sizes[d]) {
    if (s.strides[d] != dense) return false;
  }
  return true;
}

// fuses reports whether a step whose results memory could be planned for may be in
// a group.
inline bool fuses(const Overload& o, const Point& p) {
  if (p.shape.sizes.empty() || fails(o.op->handle.schema().name(), p.shape.dtype)) return false;
  if (!p.direct && lanes_for(o, p) == nullptr) return false;
  const bool anywhere = is_even(o, p);
  if (!anywhere && !straight(o.op->handle.schema().name()) && !contiguous(p.shape)) return false;
  for (const Reading& r : p.readings) {
    const auto &sizes = r.shape.sizes, &of = p.shape.sizes;
    if (sizes.size() > of.size()) return false;
    for (size_t d = 0; d < sizes.size(); d++) {
      if (sizes[d] != 1 && sizes[d] != of[d + of.size() - sizes.size()]) return false;
    }
    if (!anywhere && r.shape.count() != 1 && !r.shape.alike(p.shape)) return false;
  }
  return !p.readings.empty();
}

// reduced is how many elements at the end a reduction makes one of, 0 where it is
// not of the kind that a group can end with: over the last dimensions of contiguous
// floating numbers, to the same dtype.
inline int64_t reduced(const Overload& o, const Point& p) {
  if (!p.direct || p.readings.size() != 1 || p.readings[0].arg != 0 || p.readings[0].shape.dtype != p.shape.dtype || !c10::isFloatingType(p.shape.dtype)) return 0;
  const auto& sizes = p.readings[0].shape.sizes;
  const c10::IValue& dims = o.args[1].value;
  if (o.args[1].kind != Operand::kConstant || !dims.isIntList() || sizes.empty()) return 0;
  const auto rank = static_cast<int64_t>(sizes.size());
  if (!contiguous(p.readings[0].shape)) return 0;
  std::vector<bool> out(sizes.size());
  for (const int64_t d : dims.toIntVector()) out[d < 0 ? d + rank : d] = true;
  int64_t n = 1, d = rank;
  while (d > 0 && out[d - 1]) n *= sizes[--d];
  for (; d > 0; d--) {
    if (out[d - 1]) return 0;
  }
  return n > 1 && n < p.readings[0].shape.count() ? n : 0;
}

// outgrows reports whether tensors do not stay in the last cache from one operator
// to the next. Below that, a kernel in blocks is called more often and saves
// nothing: memory planned for the whole is written over in place, and comes from
// that cache as fast as arithmetic needs it.
inline bool outgrows(const Shape& s) {
  static const int64_t cache = [] {
#ifdef _SC_LEVEL3_CACHE_SIZE
    const int64_t size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (size > 0) return size;
#endif
    return int64_t{16} << 20;
  }();
  return 2 * s.count() * static_cast<int64_t>(c10::elementSize(s.dtype)) > cache;
}

// A Fuser turns the points of one shape class into groups.
class Fuser {
 public:
  Fuser(const Plan& plan, const std::vector<Point>& points) : plan_(plan), points_(points), by_step_(plan.steps.size(), -1), joins_(plan.steps.size()) {
    for (size_t i = 0; i < points.size(); i++) by_step_[points[i].step] = static_cast<int32_t>(i);
    for (const Step& s : plan.steps) {
      if (s.code == TFX_STEP_JUMP || s.code == TFX_STEP_UNLESS) joins_[s.target] = true;
    }
  }

  // groups returns the groups that are worth it, in the order of their last steps.
  std::vector<Group> groups() {
    count_readers();
    for (size_t i = 0; i < plan_.steps.size(); i++) {
      if (joins_[i]) close_all();  // another run may come here past the steps before
      int32_t p = by_step_[i];
      if (p >= 0 && lanes_for(points_[p]) == nullptr && plan_.fusion != Fusion::kAll && !outgrows(points_[p].readings[0].shape)) p = -1;
      if (p >= 0 && points_[p].reduces == 0) {
        join(p);
      } else if (p < 0 || !reduce(p)) {
        pass(plan_.steps[i]);
      }
    }
    close_all();
    std::sort(done_.begin(), done_.end(), [](const Group& a, const Group& b) { return a.at() < b.at(); });
    return std::move(done_);
  }

 private:
  struct Open {
    std::vector<int32_t> points;
    std::unordered_set<int32_t> reads;
    int64_t reduces = 0;
  };

  void count_readers() {
    readers_.resize(plan_.slots);
    const auto walk = [&](const auto& self, const std::vector<Operand>& list, int32_t step) -> void {
      for (const Operand& o : list) {
        if (o.kind == Operand::kSlot && (readers_[o.slot].empty() || readers_[o.slot].back() != step)) readers_[o.slot].push_back(step);
        if (o.kind == Operand::kList) self(self, *o.items, step);
      }
    };
    for (size_t i = 0; i < plan_.steps.size(); i++) {
      const Step& s = plan_.steps[i];
      const auto step = static_cast<int32_t>(i);
      walk(walk, s.operands, step);
      for (const Overload& o : s.overloads) walk(walk, o.args, step);
      for (const auto* list : {&s.written, &s.slots}) {
        for (const int32_t slot : *list) {
          if (readers_[slot].empty() || readers_[slot].back() != step) readers_[slot].push_back(step);
        }
      }
    }
  }

  // join puts a point into the open group that it reads from, or that reads what
  // it reads.
  void join(int32_t index) {
    const Point& p = points_[index];
    for (const Reading& r : p.readings) {  // a reduction is whole after the last block alone
      if (reductions_.count(r.slot) > 0 && maker(r.slot) >= 0) close(maker(r.slot));
    }
    int32_t into = -1;
    const auto meet = [&](int32_t g) {
      if (g < 0 || g == into) return;
      if (!alike(points_[open_[g].points[0]], p)) return;
      if (into < 0) {
        into = g;
        return;
      }
      if (open_[into].reduces != 0 && open_[g].reduces != 0 && open_[into].reduces != open_[g].reduces) return;
      Open& a = open_[into];
      Open& b = open_[g];
      for (const int32_t member : b.points) group_of_[points_[member].slot] = into;
      a.points.insert(a.points.end(), b.points.begin(), b.points.end());
      std::sort(a.points.begin(), a.points.end());
      a.reads.insert(b.reads.begin(), b.reads.end());
      a.reduces = std::max(a.reduces, b.reduces);
      b.points.clear();
      b.reads.clear();
    };
    for (const Reading& r : p.readings) meet(maker(r.slot));
    for (const Reading& r : p.readings) {
      const int32_t g = maker(r.slot);
      if (g >= 0 && g != into) close(g);
    }
    for (size_t g = 0; into < 0 && g < open_.size(); g++) {
      if (open_[g].points.empty()) continue;
      for (const Reading& r : p.readings) {
        if (r.slot >= 0 && r.shape.count() > 1 && open_[g].reads.count(r.slot) > 0) meet(static_cast<int32_t>(g));
      }
    }
    if (into < 0) {
      into = static_cast<int32_t>(open_.size());
      open_.emplace_back();
    }
    open_[into].points.push_back(index);
    for (const Reading& r : p.readings) open_[into].reads.insert(r.slot);
    group_of_[p.slot] = into;
  }

  // reduce puts a reduction into the group that makes its operand.
  bool reduce(int32_t index) {
    const Point& p = points_[index];
    const int32_t g = maker(p.readings[0].slot);
    if (g < 0 || at::get_num_threads() > 1 || reductions_.count(p.readings[0].slot) > 0) return false;
    Open& open = open_[g];
    if ((open.reduces != 0 && open.reduces != p.reduces) || !points_[open.points[0]].shape.alike(p.readings[0].shape)) return false;
    open.points.push_back(index);
    open.reduces = p.reduces;
    group_of_[p.slot] = g;
    reductions_.insert(p.slot);
    return true;
  }

  static bool alike(const Point& a, const Point& b) { return a.shape.alike(b.shape); }

  // maker is the open group that makes a slot.
  int32_t maker(int32_t slot) const {
    const auto found = group_of_.find(slot);
    return found == group_of_.end() || open_[found->second].points.empty() ? -1 : found->second;
  }

  // pass closes what a step that is no point needs: the groups whose results it
  // reads, and all where it may change memory or does not come back here.
  void pass(const Step& s) {
    const bool pure = (s.code == TFX_STEP_CALL && !s.writes && !s.opaque) || s.code == TFX_STEP_SIZE || s.code == TFX_STEP_ITEM || s.code == TFX_STEP_MOVE;
    if (!pure) return close_all();
    const auto walk = [&](const auto& self, const std::vector<Operand>& list) -> void {
      for (const Operand& o : list) {
        if (o.kind == Operand::kSlot && maker(o.slot) >= 0) close(maker(o.slot));
        if (o.kind == Operand::kList) self(self, *o.items);
      }
    };
    walk(walk, s.operands);
    for (const Overload& o : s.overloads) walk(walk, o.args);
  }

  void close_all() {
    for (size_t g = 0; g < open_.size(); g++) close(static_cast<int32_t>(g));
    open_.clear();
    group_of_.clear();
  }

  void close(int32_t g) {
    std::vector<int32_t> points = std::move(open_[g].points);
    open_[g] = {};
    for (bool more = true; more && points.size() >= 2;) {
      Group group;
      if (build(group, points)) {
        done_.push_back(std::move(group));
        return;
      }
      // Perhaps it is rows that are too long for a block.
      const auto pointwise = std::remove_if(points.begin(), points.end(), [&](int32_t m) { return points_[m].reduces != 0; });
      more = pointwise != points.end();
      points.erase(pointwise, points.end());
    }
  }

  // A Value is what a member makes.
  struct Value {
    int32_t output = -1;
    std::vector<int32_t> uses;  // members
    int32_t memory = -1;        // where it lies, -1 for in the accumulator alone
  };

  // A Source is an argument that is a tensor, seen from a group.
  struct Source {
    int32_t value = -1;  // of a member
    int32_t input = -1;
  };

  bool build(Group& g, const std::vector<int32_t>& members) {
    const Point& first = points_[members[0]];
    std::unordered_map<int32_t, int32_t> made;  // slot to member
    for (size_t m = 0; m < members.size(); m++) {
      made.emplace(points_[members[m]].slot, static_cast<int32_t>(m));
      g.steps.push_back(points_[members[m]].step);
    }
    std::vector<Value> values(members.size());
    std::vector<std::vector<Source>> sources(members.size());
    std::unordered_map<int32_t, int32_t> inputs;
    for (size_t m = 0; m < members.size(); m++) {
      const Point& p = points_[members[m]];
      g.width = std::max<int64_t>(g.width, c10::elementSize(p.shape.dtype));
      for (const Reading& r : p.readings) {
        Source source;
        const auto own = made.find(r.slot);
        if (r.slot >= 0 && own != made.end()) {
          source.value = own->second;
          values[own->second].uses.push_back(static_cast<int32_t>(m));
        } else if (const auto known = r.slot < 0 ? inputs.end() : inputs.find(r.slot); known != inputs.end()) {
          source.input = known->second;
        } else {
          source.input = static_cast<int32_t>(g.inputs.size());
          if (r.slot >= 0) inputs.emplace(r.slot, source.input);
          g.inputs.push_back({p.step, p.overload, r.arg, r.slot, r.shape, r.shape.count() == 1, {}, -1});
        }
        sources[m].push_back(source);
      }
      const auto& readers = readers_[p.slot];
      const bool outside = std::any_of(readers.begin(), readers.end(), [&](int32_t step) { return !std::binary_search(g.steps.begin(), g.steps.end(), step); });
      if (outside) {
        values[m].output = static_cast<int32_t>(g.outputs.size());
        g.outputs.push_back({p.slot, p.step, -1, p.shape, std::max<int64_t>(p.reduces, 1)});
      } else if (p.reduces != 0) {
        return false;
      }
    }
    if (g.outputs.empty()) return false;  // nobody asks
    collapse(g, first.shape);
    if (!compose(g, members, values, sources)) return false;
    return cut(g, members) && pays(g);
  }

  // collapse finds the fewest sizes over which every memory has strides. The
  // results are dense; the sizes are in the order in which they lie.
  static void collapse(Group& g, const Shape& result) {
    std::vector<size_t> order(result.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return result.strides[a] > result.strides[b]; });
    std::vector<int64_t> dense;
    for (const size_t d : order) {
      const int64_t n = result.sizes[d];
      if (n == 1) continue;
      std::vector<int64_t> now{result.strides[d]};
      for (const Input& in : g.inputs) now.push_back(stride(in, result, d));
      const bool merges = !g.sizes.empty() && dense.back() == now[0] * n && [&] {
        for (size_t i = 0; i < g.inputs.size(); i++) {
          if (g.inputs[i].strides.back() != now[i + 1] * n) return false;
        }
        return true;
      }();
      if (merges) {
        g.sizes.back() *= n;
        dense.back() = now[0];
        for (size_t i = 0; i < g.inputs.size(); i++) g.inputs[i].strides.back() = now[i + 1];
      } else {
        g.sizes.push_back(n);
        dense.push_back(now[0]);
        for (size_t i = 0; i < g.inputs.size(); i++) g.inputs[i].strides.push_back(now[i + 1]);
      }
    }
    if (g.sizes.empty()) {
      g.sizes.push_back(1);
      for (Input& in : g.inputs) in.strides.push_back(0);
    }
  }

  // stride is the step of an input along a dimension of the result; 0 where it is
  // broadcast.
  static int64_t stride(const Input& in, const Shape& result, size_t d) {
    if (in.scalar) return 0;
    const size_t missing = result.sizes.size() - in.shape.sizes.size();
    if (d < missing || in.shape.sizes[d - missing] == 1) return 0;
    return in.shape.strides[d - missing];
  }

  // in_step reports whether an input lies as the results do.
  static bool in_step(const Group& g, const Input& in) {
    int64_t expected = 1;
    for (size_t d = g.sizes.size(); d-- > 0;) {
      if (in.strides[d] != expected) return false;
      expected *= g.sizes[d];
    }
    return true;
  }

  // compose writes the stages.
  bool compose(Group& g, const std::vector<int32_t>& members, std::vector<Value>& values, const std::vector<std::vector<Source>>& sources) {
    const auto ninputs = static_cast<int32_t>(g.inputs.size());
    const auto base = ninputs + static_cast<int32_t>(g.outputs.size());
    std::vector<int32_t> busy;  // by scratch, the last member that reads it
    const auto scratch = [&](int32_t until, int32_t now) {
      for (size_t s = 0; s < busy.size(); s++) {
        if (busy[s] < now) {
          busy[s] = until;
          return base + static_cast<int32_t>(s);
        }
      }
      busy.push_back(until);
      return base + static_cast<int32_t>(busy.size()) - 1;
    };
    const auto lane_of = [&](size_t m) -> const LaneRule* { return lanes_for(points_[members[m]]); };
    // Inputs that are broadcast or strided are spread out before lanes read them.
    for (size_t m = 0; m < members.size(); m++) {
      if (lane_of(m) == nullptr) continue;
      for (const Source& s : sources[m]) {
        if (s.input < 0) continue;
        Input& in = g.inputs[s.input];
        if (!in.scalar && in.spread < 0 && !in_step(g, in)) in.spread = scratch(INT32_MAX, 0);
      }
    }
    int32_t held = -1;  // the member whose value the accumulator holds
    for (size_t i = 0; i < members.size(); i++) {
      const auto m = static_cast<int32_t>(i);
      const Point& p = points_[members[i]];
      Value& v = values[i];
      const int32_t last = v.uses.empty() ? m : v.uses.back();
      const LaneRule* const lane = lane_of(i);
      if (lane == nullptr) {
        if (!p.direct) return false;
        held = -1;
        v.memory = v.output >= 0 ? ninputs + v.output : scratch(last, m);
        Stage stage;
        stage.step = p.step;
        stage.overload = p.overload;
        stage.args.assign(overload(p).args.size(), -1);
        stage.dtypes.assign(stage.args.size(), c10::ScalarType::Undefined);
        for (size_t r = 0; r < p.readings.size(); r++) {
          const Source& s = sources[i][r];
          stage.args[p.readings[r].arg] = s.input >= 0 ? s.input : values[s.value].memory;
          stage.dtypes[p.readings[r].arg] = p.readings[r].shape.dtype;
        }
        stage.result = v.memory;
        stage.made = p.shape.dtype;
        stage.reduces = p.reduces;
        stage.ops = 1;
        g.stages.push_back(std::move(stage));
        continue;
      }
      if (g.stages.empty() || g.stages.back().dtype != p.shape.dtype) {
        g.stages.emplace_back();
        g.stages.back().dtype = p.shape.dtype;
        held = -1;
      }
      Stage& stage = g.stages.back();
      stage.ops++;
      const auto emit = [&](Lane code, int32_t memory = 0) { stage.lanes.push_back({code, static_cast<uint16_t>(memory), 0}); };
      const auto number = [&](Lane code, int32_t input) {
        stage.numbers.push_back({static_cast<int32_t>(stage.lanes.size()), input});
        emit(code);
      };
      const auto memory = [&](const Source& s) { return s.value >= 0 ? values[s.value].memory : g.inputs[s.input].spread >= 0 ? g.inputs[s.input].spread : s.input; };
      const auto scalar = [&](const Source& s) { return s.input >= 0 && g.inputs[s.input].scalar; };
      const auto is_held = [&](const Source& s) { return s.value >= 0 && s.value == held; };
      const auto load = [&](const Source& s) {
        if (is_held(s)) return;
        if (scalar(s)) return number(Lane::Splat, s.input);
        emit(Lane::Load, memory(s));
      };
      const auto with = [&](Lane code, double value) {
        emit(form(code, kNumber));
        stage.lanes.back().number = value;
      };
      const auto argument = [&](Lane code, size_t arg) {
        const c10::IValue& given = overload(p).args[arg].value;
        if (!given.isNone()) with(code, p.shape.dtype == c10::kFloat ? given.toScalar().to<float>() : given.toScalar().to<double>());
      };
      if (lane->kind == LaneRule::kBinary) {
        if (sources[i].size() != 2) return false;
        const Source &a = sources[i][0], &b = sources[i][1];
        if (is_held(b) && !is_held(a) && !scalar(a)) {
          emit(form(lane->code, kLeft), memory(a));
        } else if (is_held(b) && !is_held(a)) {
          const int32_t aside = scratch(m, m);
          emit(Lane::Store, aside);
          load(a);
          emit(form(lane->code, kMemory), aside);
        } else {
          load(a);
          if (is_held(b) || (a.value >= 0 && a.value == b.value) || (a.input >= 0 && a.input == b.input)) {
            emit(form(lane->code, kSelf));
          } else if (scalar(b)) {
            number(form(lane->code, kNumber), b.input);
          } else {
            emit(form(lane->code, kMemory), memory(b));
          }
        }
      } else {
        if (sources[i].size() != 1) return false;
        load(sources[i][0]);
        switch (lane->kind) {
          case LaneRule::kUnary: emit(lane->code); break;
          case LaneRule::kZero: with(lane->code, 0); break;
          case LaneRule::kNumber: argument(lane->code, 1); break;
          default: argument(lane->code, 1), argument(lane->second, 2);
        }
      }
      held = m;
      // A value that only the next operation reads, on the same lanes, stays where
      // it is; any other one is stored at once.
      const bool next = v.uses.empty() || (v.uses.front() == m + 1 && last == m + 1 && lane_of(i + 1) != nullptr && points_[members[i + 1]].shape.dtype == p.shape.dtype);
      if (v.output >= 0 || !next) {
        v.memory = v.output >= 0 ? ninputs + v.output : scratch(last, m);
        emit(Lane::Store, v.memory);
      }
    }
    for (Stage& s : g.stages) hold(s);
    g.scratches = static_cast<int32_t>(busy.size());
    return base + g.scratches < UINT16_MAX;
  }

  // hold has the memory that most operations of a stage read, if several do and none
  // stores to it, loaded once.
  static void hold(Stage& s) {
    const auto reads = [](const LaneOp& op) { return op.code > Lane::Hold && op.code < Lane::Neg && (static_cast<uint16_t>(op.code) - static_cast<uint16_t>(Lane::Add)) % (kHeld + 1) == kMemory; };
    std::unordered_map<uint16_t, int32_t> readers;
    for (const LaneOp& op : s.lanes) readers[op.at] += reads(op);
    for (const LaneOp& op : s.lanes) {
      if (op.code == Lane::Store) readers[op.at] = 0;
    }
    const auto most = std::max_element(readers.begin(), readers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == readers.end() || most->second < 2) return;
    for (LaneOp& op : s.lanes) {
      if (reads(op) && op.at == most->first) op.code = form(op.code, kHeld);
    }
    s.lanes.insert(s.lanes.begin(), {Lane::Hold, most->first, 0});
    for (Number& n : s.numbers) n.at++;
  }

  const Overload& overload(const Point& p) const { return plan_.steps[p.step].overloads[p.overload]; }

  const LaneRule* lanes_for(const Point& p) const { return tfx::lanes_for(overload(p), p); }

  // cut decides on the blocks: so large that calls do not count, so small that they
  // stay in cache, and ending where vectors and reductions end.
  bool cut(Group& g, const std::vector<int32_t>& members) const {
    constexpr int64_t kVectors = 64, kLeast = 2048, kMost = 65536;
    const auto memories = static_cast<int64_t>(g.inputs.size() + g.outputs.size()) + g.scratches;
    const bool calls = std::any_of(g.stages.begin(), g.stages.end(), [](const Stage& s) { return s.dtype == c10::ScalarType::Undefined; });
    const int64_t cache = (calls ? 512 : 128) << 10;
    const int64_t fits = std::clamp(cache / (memories * g.width) / kVectors * kVectors, kLeast, kMost);
    const int64_t total = c10::multiply_integers(g.sizes);
    g.inner = total;
    for (g.axis = 0; g.axis < g.sizes.size(); g.axis++) {
      g.inner /= g.sizes[g.axis];
      if (g.inner <= fits) break;
    }
    for (size_t d = 0; d < g.axis; d++) g.outer *= g.sizes[d];
    const int64_t size = g.sizes[g.axis];
    int64_t unit = 1;  // elements that a block has to hold a multiple of
    for (const int32_t m : members) {
      const Point& p = points_[m];
      if (p.reduces != 0) {
        if (size * g.inner % p.reduces != 0) return false;
        unit = std::lcm(unit, p.reduces);
      } else if (!is_even(overload(p), p)) {
        if (g.axis > 0 || (at::get_num_threads() > 1 && total > kLeast)) return false;
        unit = std::lcm(unit, kVectors);
      }
      if (unit > kMost) return false;
    }
    const int64_t whole = unit / std::gcd(unit, g.inner);
    g.rows = std::min(std::max(fits / g.inner / whole, int64_t{1}) * whole, size);
    if (g.rows * g.inner > kMost && g.rows < size) return false;
    g.blocks = g.outer * ((size + g.rows - 1) / g.rows);
    return true;
  }

  // pays reports whether a group is faster than its steps: lanes need no call, and
  // go through memory once.
  bool pays(const Group& g) const {
    int32_t on_lanes = 0;
    for (const Stage& s : g.stages) on_lanes += s.dtype != c10::ScalarType::Undefined ? s.ops : 0;
    return on_lanes >= 2 || static_cast<size_t>(on_lanes) < g.steps.size();
  }

  const Plan& plan_;
  const std::vector<Point>& points_;
  std::vector<int32_t> by_step_;
  std::vector<bool> joins_;  // steps that jumps lead to
  std::vector<std::vector<int32_t>> readers_;  // by slot
  std::vector<Open> open_;
  std::unordered_map<int32_t, int32_t> group_of_;  // slot to open group
  std::unordered_set<int32_t> reductions_;         // slots that reductions in groups make
  std::vector<Group> done_;
};

}  // namespace tfx
