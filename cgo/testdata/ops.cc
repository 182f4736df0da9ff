// Operators for the tests of package libtorch: values through every type of
// argument and return, each class of exception, and a look at the state of the
// thread that a kernel sees. The test compiles it against the libtorch at hand.
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include <chrono>
#include <thread>

namespace at::autocast {
TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API bool is_autocast_cache_enabled();
}  // namespace at::autocast

namespace {

using torch::jit::Stack;

// echo returns its argument: the stack stays as it is.
void echo(const c10::OperatorHandle&, Stack*) {}

// type_of returns the exact type of its argument, which an echo would not show
// for an empty list.
void type_of(const c10::OperatorHandle&, Stack* stack) {
  auto v = torch::jit::pop(*stack);
  torch::jit::push(*stack, v.type()->repr_str());
}

at::Tensor undefined() { return {}; }
bool is_undefined(const at::Tensor& x) { return !x.defined(); }
std::string optional_state(const std::optional<at::Tensor>& x) { return !x ? "none" : x->defined() ? "tensor" : "undefined"; }

// state reports what a kernel finds: gradients, inference mode, threads, autocast
// on the CPU, its dtype, its cache.
std::vector<int64_t> state() {
  return {c10::GradMode::is_enabled(), c10::InferenceMode::is_enabled(), at::get_num_threads(),
          at::autocast::is_autocast_enabled(at::kCPU), static_cast<int64_t>(at::autocast::get_autocast_dtype(at::kCPU)),
          at::autocast::is_autocast_cache_enabled()};
}

// leave_threads sets the calling thread's number of threads and leaves it so, as
// another library in the process may.
void leave_threads(int64_t n) { at::set_num_threads(static_cast<int>(n)); }

void fail(c10::string_view kind, c10::string_view text) {
  const std::string s(text);
  if (kind == "runtime") TORCH_CHECK(false, s);
  if (kind == "type") TORCH_CHECK_TYPE(false, s);
  if (kind == "value") TORCH_CHECK_VALUE(false, s);
  if (kind == "index") TORCH_CHECK_INDEX(false, s);
  if (kind == "not implemented") TORCH_CHECK_NOT_IMPLEMENTED(false, s);
  if (kind == "linalg") TORCH_CHECK_LINALG(false, s);
  if (kind == "memory") TORCH_CHECK_WITH(OutOfMemoryError, false, s);
  if (kind == "std") throw std::runtime_error(s);
  if (kind == "bad_alloc") throw std::bad_alloc();
  if (kind == "other") throw 42;
}

void warn(c10::string_view text) { TORCH_WARN(std::string(text)); }

at::Tensor nap(const at::Tensor& x, int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  return x.clone();
}

}  // namespace

TORCH_LIBRARY(tfxtest, m) {
  const char* types[] = {"Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int", "SymInt", "int?", "int[]", "SymInt[]", "int[2]", "int[1]",
                         "float", "float[]", "bool", "bool[]", "bool[3]", "Scalar", "Scalar?", "Scalar[]", "Scalar?[]", "str", "str[]", "str?",
                         "Device", "ScalarType", "ScalarType?", "Layout", "MemoryFormat", "Generator", "Generator?", "Storage", "Stream",
                         "Tensor[][]", "str[][]", "int[]?", "float[]?", "Any", "complex", "(int, Tensor, str)", "Dict(str, int)", "QScheme"};
  int n = 0;
  for (const char* t : types) {
    const std::string number = "t" + std::to_string(n++), type(t);
    m.def(("echo." + number + "(" + type + " x) -> " + type).c_str(), torch::CppFunction::makeFromBoxedFunction<&echo>());
    m.def(("type_of." + number + "(" + type + " x) -> str").c_str(), torch::CppFunction::makeFromBoxedFunction<&type_of>());
  }
  m.def("undefined() -> Tensor", undefined);
  m.def("is_undefined(Tensor x) -> bool", is_undefined);
  m.def("optional_state(Tensor? x) -> str", optional_state);
  m.def("state() -> int[]", state);
  m.def("leave_threads(int n) -> ()", leave_threads);
  m.def("fail(str kind, str text) -> ()", fail);
  m.def("warn(str text) -> ()", warn);
  m.def("nap(Tensor x, int ms) -> Tensor", nap);
}
