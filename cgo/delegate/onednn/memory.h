// Memory of a class: places where bytes are, slots that see a place through a
// layout, and the scratch block in which places share bytes when their lives do not
// meet.
#pragma once

#include "constants.h"

namespace tfxd {

struct Place {
  enum Kind : uint8_t { kInput, kOutput, kScratch, kConstant };
  Kind kind = kScratch;
  int64_t index = -1;  // of the input, output or constant
  size_t bytes = 0;
  size_t offset = 0;          // in the scratch block
  int first = -1, last = -1;  // steps that touch it
  std::vector<int64_t> values;  // whose elements are here
};

struct Slot {
  Md md;
  int place;
};

// A Step is a kernel and the slots it works on.
struct Step {
  dnnl::primitive primitive;
  std::vector<std::pair<int, int>> args;  // oneDNN's number of an argument, slot
  std::string what;                       // the nodes that it does
  std::string kernel;                     // oneDNN's name of the implementation
};

// lay_out gives the scratch places their offsets and returns the size of the
// block: the largest first, each at the lowest offset that is free while it lives.
inline size_t lay_out(std::vector<Place>& places) {
  std::vector<Place*> order, put;
  for (Place& p : places) {
    if (p.kind == Place::kScratch && p.first >= 0) order.push_back(&p);
  }
  std::stable_sort(order.begin(), order.end(), [](const Place* a, const Place* b) { return a->bytes > b->bytes; });
  size_t total = 0;
  for (Place* p : order) {
    size_t at = 0;
    for (const Place* q : put) {  // sorted by offset
      if (q->last < p->first || q->first > p->last) continue;
      if (q->offset >= at + p->bytes) break;
      at = std::max(at, q->offset + q->bytes);
    }
    p->offset = at;
    total = std::max(total, at + p->bytes);
    put.insert(std::upper_bound(put.begin(), put.end(), p, [](const Place* a, const Place* b) { return a->offset < b->offset; }), p);
  }
  return total;
}

}  // namespace tfxd
