// libtorch's warnings, kept for whoever asks instead of printed.
#pragma once

#include <c10/util/Exception.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <string>

namespace tfx {

// Warnings keeps the last texts, each once. Deliberately never destroyed: threads
// may warn while the process ends.
class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    std::lock_guard<std::mutex> lock(mu_);
    if (std::find(texts_.begin(), texts_.end(), warning.msg()) != texts_.end()) return;
    if (texts_.size() == kMost) texts_.pop_front();
    texts_.push_back(warning.msg());
  }

  std::string drain() {
    std::lock_guard<std::mutex> lock(mu_);
    std::string all;
    for (const auto& t : texts_) all.append(t).push_back('\0');
    texts_.clear();
    return all;
  }

 private:
  static constexpr size_t kMost = 64;
  std::mutex mu_;
  std::deque<std::string> texts_;
};

inline Warnings& warnings() {
  static auto* w = new Warnings();
  return *w;
}

// watch_warnings sets the handler of this thread, once; libtorch keeps one each.
inline void watch_warnings() {
  static thread_local bool set = false;
  if (set) return;
  c10::WarningUtils::set_warning_handler(&warnings());
  set = true;
}

}  // namespace tfx
