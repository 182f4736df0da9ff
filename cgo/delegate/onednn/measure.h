// Measuring: which of two classes that compute the same is faster here.
#pragma once

#include <algorithm>
#include <ctime>
#include <optional>

#include "class.h"

namespace tfxd {

// A Trial runs a class on memory of its own.
class Trial {
 public:
  explicit Trial(Class& c) : class_(c), in_(c.key.inputs.size()) {
    for (const Slot& s : c.slots) {
      const Place& p = c.places[static_cast<size_t>(s.place)];
      if (p.kind == Place::kInput && in_[static_cast<size_t>(p.index)] == nullptr) in_[static_cast<size_t>(p.index)] = block(p.bytes);
    }
    for (const auto& s : c.shapes) out_.push_back(block(static_cast<size_t>(s.bytes)));
    scratch_ = block(static_cast<tfx_delegate_class&>(c).scratch);
  }

  // run notes the least time of the runs so far. Of one thread it counts the
  // processor's time, which other processes do not disturb.
  void run() {
    const uint64_t start = now();
    class_.run({in_.data(), out_.data(), scratch_, nullptr, nullptr});
    const uint64_t took = now() - start;
    least_ = std::min(least_, took);
    total_ += took;
  }

  uint64_t least() const { return least_; }
  uint64_t total() const { return total_; }

 private:
  void* block(size_t bytes) {
    blocks_.push_back(std::make_unique<Block>(bytes));
    std::memset(blocks_.back()->data(), 0, blocks_.back()->bytes());
    return blocks_.back()->data();
  }

  uint64_t now() const {
    timespec t{};
    clock_gettime(class_.key.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
  }

  Class& class_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  void* scratch_;
  uint64_t least_ = UINT64_MAX, total_ = 0;
};

// memory_of is what a run of a class takes, in bytes.
inline size_t memory_of(const Class& c) {
  size_t n = static_cast<const tfx_delegate_class&>(c).scratch;
  for (const Place& p : c.places) n += p.kind == Place::kInput || p.kind == Place::kOutput ? p.bytes : 0;
  return n;
}

// What a run of each of two classes took at least, in nanoseconds, never 0.
struct Times {
  uint64_t a, b;

  // faster reports whether a is clearly faster.
  bool faster() const { return a < b - b / 50; }
};

// compare runs two classes in turn, at least three times each and no longer than half
// a second. What takes more memory than one wants to spend on a question is not asked.
inline std::optional<Times> compare(Class& a, Class& b) {
  constexpr int kLeast = 3, kMost = 10;
  constexpr uint64_t kLong = 500'000'000;
  constexpr size_t kMemory = size_t{1} << 30;
  if (memory_of(a) + memory_of(b) > kMemory) return std::nullopt;
  Trial x(a), y(b);
  for (int i = 0; i < kLeast || (i < kMost && x.total() + y.total() < kLong); i++) {
    x.run();
    y.run();
  }
  return Times{std::max<uint64_t>(x.least(), 1), std::max<uint64_t>(y.least(), 1)};  // of a coarse clock
}

}  // namespace tfxd
