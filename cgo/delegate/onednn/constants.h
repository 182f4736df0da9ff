// Constants: weights in the layouts that kernels chose. A copy is shared by all
// shape classes that want the same layout, and goes with the last of them; one
// copy of each constant always stays, since the caller's elements may be gone.
#pragma once

#include <memory>

#include "engine.h"
#include "layout.h"

namespace tfxd {

// A Block is aligned memory.
class Block {
 public:
  explicit Block(size_t bytes) : bytes_((bytes + TFX_DELEGATE_ALIGN - 1) / TFX_DELEGATE_ALIGN * TFX_DELEGATE_ALIGN) {
    data_ = bytes_ == 0 ? nullptr : std::aligned_alloc(TFX_DELEGATE_ALIGN, bytes_);
    if (data_ == nullptr && bytes_ > 0) throw std::bad_alloc();
  }
  ~Block() { std::free(data_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  void* data_;
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
  Constants(const tfx_delegate_buffer* buffers, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      const auto& b = buffers[i];
      if (b.dim < 0 || b.dim > TFX_DELEGATE_MAX_DIMS) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "constant ", i, ": expected ", TFX_DELEGATE_MAX_DIMS, " dimensions at most, got ", b.dim);
      One c;
      c.shape.type = type_of(b.dtype, "constant", i);
      c.shape.dims.assign(b.sizes, b.sizes + b.dim);
      c.strides.assign(b.strides, b.strides + b.dim);
      for (int64_t d : c.shape.dims) {
        if (d < 1) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "constant ", i, ": expected elements, got sizes ", c.shape.dims);
      }
      count(c.shape.dims);
      if (b.data == nullptr) fail(TFX_DELEGATE_VALUE, "constant ", i, ": expected its elements, got none");
      c.data = b.data;
      if (b.dim == 0) c.shape.dims = c.strides = {1};
      all_.push_back(std::move(c));
    }
  }

  const Shape& shape(size_t i) const { return all_[i].shape; }
  size_t size() const { return all_.size(); }

  // get returns constant i, whose row-major elements how describes, as want.
  std::shared_ptr<Packed> get(size_t i, const Md& how, const Md& want) {
    One& c = all_[i];
    std::erase_if(c.copies, [](const std::weak_ptr<Packed>& w) { return w.expired(); });
    for (const auto& w : c.copies) {
      if (auto p = w.lock(); p && p->how == how && p->md == want) return p;
    }
    auto made = std::make_shared<Packed>(how, want);
    const auto rows = row_major_elements(c);
    reorder(how, rows.first, want, made->block.data());
    c.copies.push_back(made);
    return made;
  }

  // settle makes the region independent of the caller's elements, once a class has
  // been built, and lets go of a copy that nobody else uses where there is another.
  void settle() {
    for (size_t i = 0; i < all_.size(); i++) {
      One& c = all_[i];
      for (const auto& w : c.copies) {
        if (auto p = w.lock(); p && (c.kept == nullptr || c.kept.use_count() == 1)) c.kept = p;
      }
      if (c.kept == nullptr) {  // no kernel read it
        const Md rows = plain(c.shape);
        c.kept = get(i, rows, rows);
      }
      c.data = nullptr;
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
    Dims strides;
    const void* data = nullptr;  // the caller's, until settled
    std::vector<std::weak_ptr<Packed>> copies;
    std::shared_ptr<Packed> kept;
  };

  // row_major_elements returns the elements of c in the order of its sizes, and the
  // block that holds them where they had to be copied.
  static std::pair<const void*, std::unique_ptr<Block>> row_major_elements(const One& c) {
    const Md rows = plain(c.shape);
    const Md from = c.data != nullptr ? given(c.shape, c.strides) : c.kept->md;
    const void* data = c.data != nullptr ? c.data : c.kept->block.data();
    const Md to = c.data != nullptr ? rows : c.kept->how;
    if (equivalent(from, to)) return {data, nullptr};
    auto block = std::make_unique<Block>(rows.get_size());
    reorder(from, data, to, block->data());
    return {block->data(), std::move(block)};
  }

  std::vector<One> all_;
};

}  // namespace tfxd
