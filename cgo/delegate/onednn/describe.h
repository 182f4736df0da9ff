// Descriptions of classes, for people.
#pragma once

#include "class.h"

namespace tfxd {

inline std::string describe_step(const Class& c, size_t i) {
  const Step& step = c.steps[i];
  std::ostringstream out;
  out << step.what << "  " << step.kernel;
  static const std::pair<int, const char*> shown[] = {{DNNL_ARG_SRC, "x"}, {DNNL_ARG_SRC_1, "second"}, {DNNL_ARG_WEIGHTS, "weight"}, {DNNL_ARG_DST, "result"}};
  for (const auto& [arg, name] : shown) {
    for (const auto& [a, s] : step.args) {
      if (a != arg) continue;
      const Slot& slot = c.slots[static_cast<size_t>(s)];
      const Place& p = c.places[static_cast<size_t>(slot.place)];
      out << "  " << name << ' ' << slot.md.get_dims() << ' ' << text(slot.md);
      if (p.kind == Place::kInput) out << " input " << p.index;
      if (p.kind == Place::kOutput) out << " output " << p.index;
      if (p.kind == Place::kScratch) out << " scratch " << p.offset << '+' << slot.md.get_size();
      if (p.kind == Place::kConstant) out << " constant " << slot.md.get_size();
    }
  }
  return out.str();
}

inline std::string describe(const Class& c) {
  std::ostringstream out;
  size_t weights = 0;
  for (const auto& p : c.packed) weights += p->block.bytes();
  for (size_t i = 0; i < c.steps.size(); i++) out << i << "  " << describe_step(c, i) << '\n';
  out << c.steps.size() << " kernels, " << c.key.threads << " threads, scratch " << static_cast<const tfx_delegate_class&>(c).scratch << " bytes, constants " << weights << " bytes\n";
  return out.str();
}

}  // namespace tfxd
