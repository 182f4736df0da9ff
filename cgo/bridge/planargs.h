// The arguments of a call in a plan: whether the values of a run are what an
// operator takes, as Python has it, and the stack they are put on.
#pragma once

#include "planframe.h"
#include "planlazy.h"

namespace tfx {

// An answer to whether an overload takes an argument. kAsk: Python might take it,
// in a way that is left to Go.
enum class Match : uint8_t { kYes, kNo, kAsk };

// Arguments puts arguments on the stack of a frame.
class Arguments {
 public:
  explicit Arguments(Frame& f) : f_(f) {}

  // push puts one argument on the stack.
  Match push(const Operand& a, bool python) {
    switch (a.kind) {
      case Operand::kConstant: f_.stack.push_back(unshared(a.value)); return Match::kYes;
      case Operand::kSlot: return push(a, f_.slots[a.slot], python);
      case Operand::kList: return push_items(a, a.items->size(), [&](size_t i) -> const c10::IValue& { return value_of(f_, (*a.items)[i]); });
    }
    return Match::kAsk;
  }

 private:
  Match push(const Operand& a, const c10::IValue& v, bool python) {
    torch::jit::Stack& s = f_.stack;
    const auto give = [&](bool ok) {
      if (!ok) return v.isCapsule() || v.isTensor() || !python ? Match::kAsk : Match::kNo;
      s.push_back(v);
      return Match::kYes;
    };
    if (v.isNone()) return a.optional ? give(true) : give(false);
    switch (a.want) {
      case Want::kTensor: {
        if (v.isTensor()) return give(true);
        if (v.isCapsule()) return Match::kAsk;
        if (!v.isScalar()) return give(false);
        if (a.strict) return Match::kNo;
        s.push_back(wrapped(v.toScalar()));
        return Match::kYes;
      }
      case Want::kInt: return give(v.isInt());
      case Want::kFloat:
        if (v.isBool()) return Match::kAsk;
        if (v.isInt()) {
          s.push_back(static_cast<double>(v.toInt()));
          return Match::kYes;
        }
        return give(v.isDouble());
      case Want::kBool: return give(v.isBool());
      case Want::kNumber:
        if (a.strict && v.isTensor()) return Match::kNo;
        return give(v.isScalar() && !v.isTensor());
      case Want::kString: return give(v.isString());
      case Want::kDevice: return give(v.isDevice());
      case Want::kTensors:
        if (v.isTensorList()) {
          s.push_back(unshared(v));
          return Match::kYes;
        }
        return v.isList() || v.isTuple() ? list_of(a, v) : give(false);
      case Want::kOptionalTensors: return v.isList() || v.isTuple() ? list_of(a, v) : give(false);
      case Want::kInts:
        if (v.isIntList()) return give(a.fixed <= 1 || static_cast<int64_t>(v.toListRef().size()) == a.fixed);
        return v.isList() || v.isTuple() ? list_of(a, v) : Match::kAsk;
      case Want::kFloats: return give(v.isDoubleList());
      case Want::kBools: return give(v.isBoolList());
      case Want::kOther: break;
    }
    if (v.isCustomClass() || v.isObject() || v.isGenerator()) return give(true);
    return Match::kAsk;
  }

  // unshared is v, or a copy of a list that holds lazy tensors: libtorch's fallbacks
  // put what they resolve into the list that they are given.
  static c10::IValue unshared(const c10::IValue& v) { return v.isTensorList() && lazy(v) ? c10::IValue(v.toTensorList().copy()) : v; }

  // list_of takes a list or tuple of any values, as the shape of a tensor is.
  Match list_of(const Operand& a, const c10::IValue& v) {
    if (v.isTuple()) {
      const auto& items = v.toTupleRef().elements();
      return push_items(a, items.size(), [&](size_t i) -> const c10::IValue& { return items[i]; });
    }
    const auto items = v.toListRef();
    return push_items(a, items.size(), [&](size_t i) -> const c10::IValue& { return items[i]; });
  }

  // push_items puts a list on the stack, of n items that get returns.
  template <class F>
  Match push_items(const Operand& a, size_t n, F&& get) {
    if (a.fixed > 1 && static_cast<int64_t>(n) != a.fixed) return Match::kAsk;
    const auto collect = [&](auto list, auto&& take) {
      list.reserve(n);
      for (size_t i = 0; i < n; i++) {
        if (!take(list, get(i))) return Match::kAsk;
      }
      f_.stack.push_back(std::move(list));
      return Match::kYes;
    };
    switch (a.want) {
      case Want::kTensors:
        return collect(c10::List<at::Tensor>(), [](auto& list, const c10::IValue& v) { return v.isTensor() && (list.push_back(v.toTensor()), true); });
      case Want::kOptionalTensors:
        return collect(c10::List<std::optional<at::Tensor>>(), [](auto& list, const c10::IValue& v) {
          if (v.isNone()) return list.push_back(std::nullopt), true;
          return v.isTensor() && (list.push_back(v.toTensor()), true);
        });
      case Want::kInts:
        return collect(c10::List<int64_t>(), [](auto& list, const c10::IValue& v) { return v.isInt() && (list.push_back(v.toInt()), true); });
      default: return Match::kAsk;
    }
  }

  Frame& f_;
};

}  // namespace tfx
