// A delegate for tests: float32 elements, one by one, by the operations whose bits
// are the same wherever they are computed. What a real one would do with sizes, it
// does by their first: 13 it has no kernels for, 17 is an error.
#include "../../../cgo/delegate/tfx_delegate.h"

#include <algorithm>
#include <cmath>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Node {
  int64_t op, kind, a, b;
  double alpha, beta;
  int64_t first, last;
};

}  // namespace

struct tfx_delegate_region {
  std::atomic<int> count{1};
  int64_t inputs = 0;
  std::vector<std::vector<float>> constants;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<Node> nodes;
  std::vector<int64_t> outputs;
};

namespace {

struct Class : tfx_delegate_class {
  tfx_delegate_region* region;
  std::vector<std::vector<int64_t>> sizes, strides;  // of inputs
  std::vector<std::vector<int64_t>> values;          // sizes of all values
  std::vector<tfx_delegate_shape> shapes;
};

int32_t fail(tfx_delegate_error* e, int32_t code, const char* text) {
  if (e != nullptr && e->size > 0) std::snprintf(e->text, e->size, "%s", text);
  return code;
}

int64_t count(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

double real(int64_t word) {
  double d;
  std::memcpy(&d, &word, sizeof d);
  return d;
}

// gather copies a tensor of any strides in the order of its elements.
void gather(const float* from, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, float* to) {
  std::vector<int64_t> at(sizes.size());
  for (int64_t n = count(sizes); n > 0; n--) {
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); i++) offset += at[i] * strides[i];
    *to++ = from[offset];
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < sizes[i]) break;
      at[i] = 0;
    }
  }
}

void release(tfx_delegate_region* r) noexcept {
  if (--r->count == 0) delete r;
}
void retain(tfx_delegate_region* r) noexcept { r->count++; }

int32_t compile(const int64_t* p, uint64_t n, const tfx_delegate_buffer* constants, uint64_t nconstants, tfx_delegate_region** region, tfx_delegate_error* e) noexcept {
  if (n < 7 || p[0] != TFX_REGION_MAGIC || p[1] != TFX_REGION_VERSION || p[4] != static_cast<int64_t>(nconstants)) return fail(e, TFX_DELEGATE_VALUE, "malformed program");
  auto* r = new tfx_delegate_region;
  r->inputs = p[3];
  for (uint64_t i = 0; i < nconstants; i++) {
    const tfx_delegate_buffer& c = constants[i];
    r->shapes.emplace_back(c.sizes, c.sizes + c.dim);
    r->constants.emplace_back(count(r->shapes.back()));
    gather(static_cast<const float*>(c.data), r->shapes.back(), {c.strides, c.strides + c.dim}, r->constants.back().data());
  }
  const int64_t* at = p + 7;
  for (int64_t i = 0; i < p[5]; i++) {
    Node node{at[0], 0, -1, -1, 0, 0, 0, 0};
    const int64_t* w = at + 2;
    switch (node.op) {
      case TFX_NODE_BINARY: node.kind = w[0], node.a = w[1], node.b = w[2]; break;
      case TFX_NODE_ELTWISE: node.kind = w[0], node.a = w[1], node.alpha = real(w[2]), node.beta = real(w[3]); break;
      case TFX_NODE_FLATTEN: node.a = w[0], node.first = w[1], node.last = w[2]; break;
      default: delete r; return fail(e, TFX_DELEGATE_NOT_IMPLEMENTED, "an operation that is not for tests");
    }
    r->nodes.push_back(node);
    at += 2 + at[1];
  }
  for (int64_t i = 0; i < p[6]; i++) r->outputs.push_back(at[2 * i]);
  *region = r;
  return TFX_DELEGATE_OK;
}

void release_class(tfx_delegate_class* c) noexcept {
  auto* k = static_cast<Class*>(c);
  release(k->region);
  delete k;
}

int32_t prepare(tfx_delegate_region* r, const tfx_delegate_buffer* inputs, uint64_t n, int32_t, tfx_delegate_class** shape, tfx_delegate_error* e) noexcept {
  if (*shape != nullptr) {
    const auto* k = static_cast<Class*>(*shape);
    bool same = n == k->sizes.size();
    for (uint64_t i = 0; same && i < n; i++) {
      same = std::vector<int64_t>(inputs[i].sizes, inputs[i].sizes + inputs[i].dim) == k->sizes[i] &&
          std::vector<int64_t>(inputs[i].strides, inputs[i].strides + inputs[i].dim) == k->strides[i];
    }
    if (same) return TFX_DELEGATE_OK;
    release_class(*shape);
    *shape = nullptr;
  }
  auto* k = new Class;
  k->region = r;
  retain(r);
  const auto refuse = [&](int32_t code, const char* text) {
    release_class(k);
    return fail(e, code, text);
  };
  if (static_cast<int64_t>(n) != r->inputs) return refuse(TFX_DELEGATE_VALUE, "another number of inputs");
  for (uint64_t i = 0; i < n; i++) {
    if (inputs[i].dtype != 6) return refuse(TFX_DELEGATE_NOT_IMPLEMENTED, "float32 alone");
    k->sizes.emplace_back(inputs[i].sizes, inputs[i].sizes + inputs[i].dim);
    k->strides.emplace_back(inputs[i].strides, inputs[i].strides + inputs[i].dim);
    if (!k->sizes.back().empty() && k->sizes.back()[0] == 13) return refuse(TFX_DELEGATE_NOT_IMPLEMENTED, "no kernel for 13");
    if (!k->sizes.back().empty() && k->sizes.back()[0] == 17) return refuse(TFX_DELEGATE_RUNTIME, "expected another size than 17");
  }
  k->values = k->sizes;
  k->values.insert(k->values.end(), r->shapes.begin(), r->shapes.end());
  uint64_t floats = 0;
  for (const auto& v : k->values) floats += count(v);
  for (const Node& node : r->nodes) {
    std::vector<int64_t> sizes = k->values[node.a];
    if (node.b >= 0 && k->values[node.b] != sizes) return refuse(TFX_DELEGATE_NOT_IMPLEMENTED, "no broadcasting");
    if (node.op == TFX_NODE_FLATTEN) {
      const int64_t dims = sizes.size(), first = node.first < 0 ? node.first + dims : node.first, last = node.last < 0 ? node.last + dims : node.last;
      if (first < 0 || last >= dims || first > last) return refuse(TFX_DELEGATE_VALUE, "flatten: no such dimensions");
      int64_t merged = 1;
      for (int64_t d = first; d <= last; d++) merged *= sizes[d];
      sizes.erase(sizes.begin() + first, sizes.begin() + last + 1);
      sizes.insert(sizes.begin() + first, merged);
    }
    floats += count(sizes);
    k->values.push_back(sizes);
  }
  for (const int64_t o : r->outputs) {
    const auto& sizes = k->values[o];
    tfx_delegate_shape s{};
    s.dim = sizes.size(), s.dtype = 6, s.bytes = 4 * count(sizes);
    int64_t stride = 1;
    for (int32_t d = s.dim - 1; d >= 0; d--) {
      s.sizes[d] = sizes[d], s.strides[d] = stride;
      stride *= std::max<int64_t>(sizes[d], 1);
    }
    k->shapes.push_back(s);
  }
  k->outputs = k->shapes.data(), k->noutputs = k->shapes.size(), k->scratch = 4 * floats, k->nsteps = r->nodes.size();
  *shape = k;
  return TFX_DELEGATE_OK;
}

float eltwise(const Node& n, float x) {
  switch (n.kind) {
    case TFX_ELTWISE_RELU: return x < 0 ? 0 : x;
    case TFX_ELTWISE_CLIP: return std::min(std::max(x, static_cast<float>(n.alpha)), static_cast<float>(n.beta));
    default: return std::fabs(x);
  }
}

float binary(const Node& n, float a, float b) {
  switch (n.kind) {
    case TFX_BINARY_ADD: return a + b;
    case TFX_BINARY_SUB: return a - b;
    default: return a * b;
  }
}

int32_t run(tfx_delegate_class* c, const tfx_delegate_run* what, tfx_delegate_error* e) noexcept {
  auto* k = static_cast<Class*>(c);
  if (reinterpret_cast<uintptr_t>(what->scratch) % TFX_DELEGATE_ALIGN != 0) return fail(e, TFX_DELEGATE_INTERNAL, "scratch is not aligned");
  auto* free = static_cast<float*>(what->scratch);
  std::vector<float*> at;
  for (const auto& sizes : k->values) {
    at.push_back(free);
    free += count(sizes);
  }
  size_t v = 0;
  for (; v < k->sizes.size(); v++) gather(static_cast<const float*>(what->inputs[v]), k->sizes[v], k->strides[v], at[v]);
  for (const auto& constant : k->region->constants) std::copy(constant.begin(), constant.end(), at[v++]);
  for (const Node& n : k->region->nodes) {
    if (what->cancel != nullptr && *what->cancel != 0) return fail(e, TFX_DELEGATE_CANCELLED, "");
    float* const to = at[v];
    const int64_t elements = count(k->values[v++]);
    for (int64_t i = 0; i < elements; i++) {
      to[i] = n.op == TFX_NODE_BINARY ? binary(n, at[n.a][i], at[n.b][i]) : n.op == TFX_NODE_ELTWISE ? eltwise(n, at[n.a][i]) : at[n.a][i];
    }
  }
  for (size_t i = 0; i < k->region->outputs.size(); i++) {
    const int64_t o = k->region->outputs[i];
    std::copy(at[o], at[o] + count(k->values[o]), static_cast<float*>(what->outputs[i]));
  }
  return TFX_DELEGATE_OK;
}

uint64_t describe(const tfx_delegate_class* c, char* text, uint64_t size) noexcept {
  std::string all = std::to_string(c->nsteps) + " steps\n";
  if (size > 0) std::snprintf(text, size, "%s", all.c_str());
  return all.size() + 1;
}
uint64_t describe_step(const tfx_delegate_class*, uint64_t, char*, uint64_t) noexcept { return 0; }

uint64_t bytes(const tfx_delegate_region* r) noexcept {
  uint64_t n = 0;
  for (const auto& c : r->constants) n += 4 * c.size();
  return n;
}

void layouts(const tfx_delegate_region*, tfx_delegate_layouts* out) noexcept { *out = {TFX_LAYOUTS_ANY, {}}; }

const tfx_delegate_api api = {TFX_DELEGATE_ABI, sizeof(tfx_delegate_api), "test", "1", compile, retain, release, prepare, release_class, run, describe, describe_step, bytes, layouts};

}  // namespace

extern "C" __attribute__((visibility("default"))) const tfx_delegate_api* tfx_delegate(void) { return &api; }
