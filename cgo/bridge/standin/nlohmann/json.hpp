// A stand-in for nlohmann/json.hpp. ATen/functorch/Interpreter.h includes that
// header for the serialisation of interpreters, which the bridge never calls, and
// the wheel of libtorch does not carry it. Only what has to parse is here; no
// object of libtorch holds a json, so no layout depends on it. This folder comes
// last on the include path: a real header wins.
#pragma once

#include <string>

namespace nlohmann {
struct json {
  json() = default;
  template <class T>
  explicit json(const T&) {}
  static json parse(const std::string&) { return {}; }
  std::string dump() const { return {}; }
  template <class T>
  T get() const;  // declared only: a use would not link
};
}  // namespace nlohmann
