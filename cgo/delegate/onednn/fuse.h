// Groups: which nodes go into the kernel of another. A node with one reader that is
// an activation, or arithmetic with a second value, takes it along, and so on. Whether a
// kernel for all of it exists is found out when it is built; what does not go in
// follows by itself.
#pragma once

#include "program.h"
#include "shape.h"

namespace tfxd {

// A Group is a chain of nodes by the numbers of their values; all but the last are
// read by the next alone.
using Group = std::vector<int64_t>;

// kMaxFused bounds a chain: oneDNN takes 32 post-ops, beyond a few kernels slow down.
inline constexpr size_t kMaxFused = 6;

// takes_along reports whether kernels of op have post-ops.
inline bool takes_along(int32_t op) {
  switch (op) {
    case TFX_NODE_CONVOLUTION:
    case TFX_NODE_TRANSPOSED:
    case TFX_NODE_LINEAR:
    case TFX_NODE_MATMUL:
    case TFX_NODE_BINARY: return true;
    default: return false;
  }
}

// other is the operand of a binary node beside v.
inline int64_t other(const Node& binary, int64_t v) { return binary.in[0] == v ? binary.in[1] : binary.in[0]; }

// goes_into reports whether node u can be applied to v inside v's kernel.
inline bool goes_into(const Program& p, const std::vector<Shape>& shapes, int64_t v, int64_t u) {
  const Node& n = p.node(u);
  if (n.op == TFX_NODE_ELTWISE) return true;
  if (n.op != TFX_NODE_BINARY) return false;
  if (n.in[1] == v && (n.kind == TFX_BINARY_SUB || n.kind == TFX_BINARY_DIV)) return false;
  return shapes[static_cast<size_t>(v)].dims == shapes[static_cast<size_t>(u)].dims;
}

// groups_of returns the groups in the order in which they run: that of their last
// nodes, since only there all that they read is computed.
inline std::vector<Group> groups_of(const Program& p, const std::vector<Shape>& shapes) {
  std::vector<int64_t> reader(static_cast<size_t>(p.nvalues()), kNone);
  for (int64_t v = p.first_node(); v < p.nvalues(); v++) {
    for (int64_t in : p.node(v).in) {
      if (in != kNone) reader[static_cast<size_t>(in)] = v;
    }
  }
  std::vector<bool> taken(reader.size());
  std::vector<Group> groups;
  for (int64_t v = p.first_node(); v < p.nvalues(); v++) {
    if (taken[static_cast<size_t>(v)]) continue;
    Group g{v};
    while (takes_along(p.node(v).op) && g.size() <= kMaxFused) {
      const int64_t from = g.back(), u = reader[static_cast<size_t>(from)];
      if (p.uses[static_cast<size_t>(from)] != 1 || u == kNone || taken[static_cast<size_t>(u)] || !goes_into(p, shapes, from, u)) break;
      taken[static_cast<size_t>(u)] = true;
      g.push_back(u);
    }
    groups.push_back(std::move(g));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.back() < b.back(); });
  return groups;
}

}  // namespace tfxd
