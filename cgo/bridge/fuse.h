// How groups are formed: which steps belong together.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fusebuild.h"

namespace tfx {

// A Fuser turns the points of one shape class into groups.
class Fuser {
 public:
  Fuser(const Plan& plan, const std::vector<Point>& points) : plan_(plan), points_(points), builder_(plan, points), by_step_(plan.steps.size(), -1), joins_(plan.steps.size()) {
    for (size_t i = 0; i < points.size(); i++) by_step_[points[i].step] = static_cast<int32_t>(i);
    for (const Step& s : plan.steps) {
      if (s.code == TFX_STEP_JUMP || s.code == TFX_STEP_UNLESS) joins_[s.target] = true;
    }
  }

  // groups returns the groups that are worth it, in the order of their last steps.
  std::vector<Group> groups() {
    for (size_t i = 0; i < plan_.steps.size(); i++) {
      if (joins_[i]) close_all();  // another run may come here past the steps before
      int32_t p = by_step_[i];
      if (p >= 0 && !builder_.gains(points_[p]) && plan_.fusion != Fusion::kAll && !outgrows(points_[p].readings[0].shape)) p = -1;
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
    if (g < 0 || reductions_.count(p.readings[0].slot) > 0) return false;
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
    const std::vector<int32_t> points = std::move(open_[g].points);
    open_[g] = {};
    if (add(points)) return;
    // Perhaps its rows are too long for a block. Reductions by themselves read what was
    // made before them, and so end groups.
    std::vector<int32_t> between;
    for (const int32_t p : points) {
      if (points_[p].reduces == 0) {
        between.push_back(p);
        continue;
      }
      add(between);
      between.clear();
    }
    if (between.size() < points.size()) add(between);
  }

  // add makes a group of points, unless they cannot be one.
  bool add(const std::vector<int32_t>& points) {
    Group group;
    if (points.empty() || (points.size() == 1 && !builder_.gains_alone(points_[points[0]])) || !builder_.build(group, points)) return false;
    done_.push_back(std::move(group));
    return true;
  }

  const Plan& plan_;
  const std::vector<Point>& points_;
  const GroupBuilder builder_;
  std::vector<int32_t> by_step_;
  std::vector<bool> joins_;  // steps that jumps lead to
  std::vector<Open> open_;
  std::unordered_map<int32_t, int32_t> group_of_;  // slot to open group
  std::unordered_set<int32_t> reductions_;         // slots that reductions in groups make
  std::vector<Group> done_;
};

}  // namespace tfx
