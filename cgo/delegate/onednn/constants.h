// Constants: weights in the layouts that kernels chose. A copy is shared by all
// shape classes that want the same layout, and goes with the last of them; one
// copy of each constant always stays, since the caller's elements are gone.
#pragma once

#include <sys/mman.h>

#include <memory>

#include "engine.h"
#include "layout.h"

namespace tfxd {

// A Block is aligned memory. A large one is pages of its own: of the layouts that are
// tried all but one go, and would leave holes in C's heap between those that stay.
class Block {
 public:
  explicit Block(size_t bytes) : bytes_((bytes + TFX_DELEGATE_ALIGN - 1) / TFX_DELEGATE_ALIGN * TFX_DELEGATE_ALIGN) {
    if (bytes_ == 0) return;
    if (paged()) {
      data_ = pages(bytes_);
      return;
    }
    data_ = std::aligned_alloc(TFX_DELEGATE_ALIGN, bytes_);
    if (data_ == nullptr) throw std::bad_alloc();
  }
  ~Block() {
    if (paged()) {
      munmap(data_, bytes_);
    } else {
      std::free(data_);
    }
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kLarge = 64 << 10, kHuge = 2 << 20;

  // pages maps memory. What holds a huge page begins at one and asks for them: kernels
  // stream through weights, and looking up the addresses of small pages takes a twentieth
  // of a product's time, more in a virtual machine.
  static void* pages(size_t bytes) {
    const size_t room = bytes < kHuge ? bytes : bytes + kHuge;
    void* const p = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    if (room == bytes) return p;
    char* const start = static_cast<char*>(p);
    const size_t before = -reinterpret_cast<uintptr_t>(p) % kHuge, page = 4096, end = before + (bytes + page - 1) / page * page;
    if (before > 0) munmap(start, before);
    if (end < room) munmap(start + end, room - end);
    (void)madvise(start + before, bytes, MADV_HUGEPAGE);  // a system without them has small ones
    return start + before;
  }

  bool paged() const { return bytes_ >= kLarge; }

  size_t bytes_;
  void* data_ = nullptr;
};

// reorder copies elements from one layout to another.
inline void reorder(const Md& from, const void* source, const Md& to, void* target) {
  dnnl::memory a(from, engine(), const_cast<void*>(source)), b(to, engine(), target);
  dnnl::stream stream(engine());
  dnnl::reorder(a, b).execute(stream, a, b);
  stream.wait();
}

// A Packed is a constant in one layout. How sees what the row-major elements of the
// constant are: the same sizes, with groups apart, transposed.
struct Packed {
  Packed(const Md& h, const Md& m) : how(h), md(m), block(m.get_size()) {}
  Md how, md;
  Block block;
};

// Constants are those of a region. Whoever calls get or settle holds the region's
// lock for building.
class Constants {
 public:
  // It copies the caller's elements, row after row, so that they may go.
  Constants(const tfx_delegate_buffer* buffers, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      const auto& b = buffers[i];
      if (b.dim < 0 || b.dim > TFX_DELEGATE_MAX_DIMS) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "constant ", i, ": expected ", TFX_DELEGATE_MAX_DIMS, " dimensions at most, got ", b.dim);
      Shape shape{Dims(b.sizes, b.sizes + b.dim), type_of(b.dtype, "constant", i)};
      Dims strides(b.strides, b.strides + b.dim);
      for (int64_t d : shape.dims) {
        if (d < 1) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "constant ", i, ": expected elements, got sizes ", shape.dims);
      }
      count(shape.dims);
      if (b.data == nullptr) fail(TFX_DELEGATE_VALUE, "constant ", i, ": expected its elements, got none");
      if (b.dim == 0) shape.dims = strides = {1};
      const Md rows = plain(shape);
      auto copy = std::make_shared<Packed>(rows, rows);
      reorder(given(shape, strides), b.data, rows, copy->block.data());
      all_.push_back({std::move(shape), {copy}, copy});
    }
  }

  const Shape& shape(size_t i) const { return all_[i].shape; }
  size_t size() const { return all_.size(); }

  // get returns constant i, whose row-major elements how describes, as want. A copy that
  // no class uses goes at once, so that two of all constants are never there for one class.
  std::shared_ptr<Packed> get(size_t i, const Md& how, const Md& want) {
    One& c = all_[i];
    std::erase_if(c.copies, [](const std::weak_ptr<Packed>& w) { return w.expired(); });
    for (const auto& w : c.copies) {
      if (auto p = w.lock(); p && p->how == how && p->md == want) return p;
    }
    auto made = std::make_shared<Packed>(how, want);
    if (equivalent(c.kept->md, c.kept->how)) {  // row after row
      reorder(how, c.kept->block.data(), want, made->block.data());
    } else {
      const Block rows(c.kept->how.get_size());
      reorder(c.kept->md, c.kept->block.data(), c.kept->how, rows.data());
      reorder(how, rows.data(), want, made->block.data());
    }
    c.copies.push_back(made);
    if (c.kept.use_count() == 1) c.kept = made;
    return made;
  }

  // settle lets go of copies that no class uses where there is another.
  void settle() {
    for (One& c : all_) {
      for (const auto& w : c.copies) {
        if (c.kept.use_count() > 1) break;
        if (auto p = w.lock(); p && p != c.kept) c.kept = std::move(p);
      }
    }
  }

  uint64_t bytes() const {
    uint64_t n = 0;
    for (const One& c : all_) {
      for (const auto& w : c.copies) {
        if (auto p = w.lock()) n += p->block.bytes();
      }
    }
    return n;
  }

 private:
  struct One {
    Shape shape;
    std::vector<std::weak_ptr<Packed>> copies;
    std::shared_ptr<Packed> kept;  // one that stays
  };

  std::vector<One> all_;
};

}  // namespace tfxd
