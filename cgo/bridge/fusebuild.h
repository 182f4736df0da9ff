// What a group does: the memory that it reads and writes, the stages of a block, and
// the blocks.
#pragma once

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "fusable.h"
#include "threads.h"

namespace tfx {

// A GroupBuilder makes groups of the points of one shape class.
class GroupBuilder {
 public:
  GroupBuilder(const Plan& plan, const std::vector<Point>& points) : plan_(plan), points_(points), readers_(plan.slots) { count_readers(); }

  // gains reports whether a step is faster in a group because of how it is done there,
  // and gains_alone whether it is in one of its own.
  bool gains(const Point& p) const { return lanes_for(overload(p), p) != nullptr || nearest_for(overload(p), p) != nullptr; }
  bool gains_alone(const Point& p) const {
    const LaneRule* const lane = lanes_for(overload(p), p);
    return p.shape.count() >= kAlone && (nearest_for(overload(p), p) != nullptr || (lane != nullptr && exponential(lane->code)));
  }

  // build fills a group with members, which are points in the order of their steps. It
  // reports false where they cannot be one, or are no faster as one.
  bool build(Group& g, const std::vector<int32_t>& members) const {
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

 private:
  static constexpr int64_t kAlone = 1024;  // elements

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

  const Overload& overload(const Point& p) const { return plan_.steps[p.step].overloads[p.overload]; }

  void count_readers() {
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
  bool compose(Group& g, const std::vector<int32_t>& members, std::vector<Value>& values, const std::vector<std::vector<Source>>& sources) const {
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
    const auto lane_of = [&](size_t m) { return lanes_for(overload(points_[members[m]]), points_[members[m]]); };
    const auto nearest_of = [&](size_t m) { return nearest_for(overload(points_[members[m]]), points_[members[m]]); };
    const auto memory = [&](const Source& s) { return s.value >= 0 ? values[s.value].memory : g.inputs[s.input].spread >= 0 ? g.inputs[s.input].spread : s.input; };
    // Inputs that are broadcast or strided are spread out before they are read by what is
    // no kernel.
    for (size_t m = 0; m < members.size(); m++) {
      if (lane_of(m) == nullptr && nearest_of(m) == nullptr) continue;
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
        stage.nearest = nearest_of(i);
        if (stage.nearest != nullptr) {
          stage.from = memory(sources[i][0]);
        } else {
          stage.args.assign(overload(p).args.size(), -1);
          stage.dtypes.assign(stage.args.size(), c10::ScalarType::Undefined);
          for (size_t r = 0; r < p.readings.size(); r++) {
            const Source& s = sources[i][r];
            stage.args[p.readings[r].arg] = s.input >= 0 ? s.input : values[s.value].memory;
            stage.dtypes[p.readings[r].arg] = p.readings[r].shape.dtype;
          }
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

  // cut decides on the blocks: so large that calls do not count, so small that they
  // stay in cache, and ending where vectors and reductions end. With several threads
  // each has a share of the rows, if they are worth it. Where bits depend on the ends of vectors,
  // shares are those that libtorch's loops give the threads.
  bool cut(Group& g, const std::vector<int32_t>& members) const {
    constexpr int64_t kVectors = 64, kLeast = 2048, kMost = 65536;
    const auto memories = static_cast<int64_t>(g.inputs.size() + g.outputs.size()) + g.scratches;
    const bool calls = std::any_of(g.stages.begin(), g.stages.end(), [](const Stage& s) { return s.dtype == c10::ScalarType::Undefined; });
    const int64_t cache = (calls ? 512 : 128) << 10;
    const int64_t total = c10::multiply_integers(g.sizes);
    const int64_t fits = std::clamp(cache / (memories * g.width) / kVectors * kVectors, kLeast, kMost);
    g.inner = total;
    for (g.axis = 0; g.axis < g.sizes.size(); g.axis++) {
      g.inner /= g.sizes[g.axis];
      if (g.inner <= fits) break;
    }
    const int64_t size = g.sizes[g.axis];
    bool even = true;
    int64_t reduces = 1;  // elements that a share has to hold a multiple of
    for (const int32_t m : members) {
      const Point& p = points_[m];
      if (p.reduces != 0) {
        if (size * g.inner % p.reduces != 0) return false;
        reduces = std::lcm(reduces, p.reduces);
        if (reduces > kMost) return false;
      } else if (!is_even(overload(p), p)) {
        // The loop of a kernel that has lanes gives its threads equal shares, of at least
        // GRAIN_SIZE; others of more than kLeast do it each in its way.
        if (g.axis > 0 || (lanes_for(overload(p), p) == nullptr && at::get_num_threads() > 1 && total > kLeast)) return false;
        even = false;
      }
    }
    const int64_t unit = even ? reduces : std::lcm(reduces, kVectors);  // and a block
    const int64_t whole = unit / std::gcd(unit, g.inner);
    g.threads = threads(even ? total * cost(g) : total);
    g.share = size;
    if (!even) {
      const int64_t share = at::divup(total, g.threads);
      if (share % g.inner != 0 || share % reduces != 0) return false;
      g.share = share / g.inner;
    } else if (g.axis == 0) {
      g.share = std::min(at::divup(at::divup(size, g.threads), whole) * whole, size);
    }
    g.rows = std::min(std::max(fits / g.inner / whole, int64_t{1}) * whole, g.share);
    if (g.rows * g.inner > kMost && g.rows < g.share) return false;
    g.blocks = total / (size * g.inner) * at::divup(size, g.share) * at::divup(g.share, g.rows);
    g.threads = std::min(g.threads, g.blocks);
    return true;
  }

  // threads is how many do so many elements of libtorch's loops.
  static int64_t threads(int64_t elements) {
    const int64_t most = at::divup(elements, at::internal::GRAIN_SIZE);
    return most == 1 ? 1 : std::min(team(), most);
  }

  // cost is how many operators that libtorch's loops do in the same time a group is.
  static int64_t cost(const Group& g) {
    int64_t sum = 0;
    for (const Stage& s : g.stages) sum += s.nearest != nullptr ? 16 : s.ops;
    return sum;
  }

  // pays reports whether a group is faster than its steps: lanes need no call, and
  // go through memory once. Of one step, gains_alone has said so.
  bool pays(const Group& g) const {
    int32_t on_lanes = 0;
    for (const Stage& s : g.stages) on_lanes += s.dtype != c10::ScalarType::Undefined ? s.ops : 0;
    return g.steps.size() == 1 || on_lanes >= 2 || static_cast<size_t>(on_lanes) < g.steps.size();
  }
  const Plan& plan_;
  const std::vector<Point>& points_;
  std::vector<std::vector<int32_t>> readers_;  // by slot, steps
};

}  // namespace tfx
