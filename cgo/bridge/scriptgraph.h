// The graph of a method of a TorchScript program, in the words of values.
#pragma once

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <unordered_map>

#include "script.h"

namespace tfx {

// A GraphWriter describes a graph whose calls are inlined. A block is a TUPLE of its
// inputs, nodes and results; a node a TUPLE of its kind, the overload of an operator,
// the numbers of the values that it reads, its results, its blocks, its source, and a
// TUPLE of what only it has: the value of a constant; the qualified name of an attribute,
// and its value unless that is a module.
class GraphWriter {
 public:
  GraphWriter(Writer& out, const torch::jit::Module& m, torch::jit::Graph& graph) : out_(out) {
    modules_[graph.inputs()[0]] = {"", m._ivalue()};
  }

  void block(const torch::jit::Block& b) {
    out_.head(TFX_TUPLE, 3);
    values(b.inputs());
    out_.head(TFX_LIST, std::distance(b.nodes().begin(), b.nodes().end()));
    for (const torch::jit::Node* n : b.nodes()) node(*n);
    numbers(b.outputs());
  }

 private:
  struct Named {
    std::string name;
    c10::IValue value;
  };

  void numbers(at::ArrayRef<const torch::jit::Value*> all) {
    out_.head(TFX_INTS, all.size());
    for (const auto* v : all) out_.word(v->unique());
  }

  // values are a TUPLE each: number, name, type.
  void values(at::ArrayRef<const torch::jit::Value*> all) {
    out_.head(TFX_LIST, all.size());
    for (const auto* v : all) {
      out_.head(TFX_TUPLE, 3);
      out_.head(TFX_INT), out_.word(v->unique());
      out_.str(v->hasDebugName() ? v->debugNameBase() : "");
      out_.str(v->type()->str());
    }
  }

  void node(const torch::jit::Node& n) {
    const auto* schema = n.maybeSchema();
    out_.head(TFX_TUPLE, 7);
    out_.str(n.kind().toQualString());
    out_.str(schema != nullptr ? schema->overload_name() : "");
    numbers(n.inputs());
    values(n.outputs());
    out_.head(TFX_LIST, n.blocks().size());
    for (const auto* b : n.blocks()) block(*b);
    out_.str(source(n));
    own(n);
  }

  void own(const torch::jit::Node& n) {
    switch (n.kind()) {
      case c10::prim::Constant: {
        auto value = torch::jit::toIValue(n.output());
        out_.head(TFX_TUPLE, value.has_value());  // none of a function
        if (value.has_value()) out_.value(std::move(*value));
        return;
      }
      case c10::prim::GetAttr:
      case c10::prim::SetAttr: {
        const auto& attribute = n.s(c10::attr::name);
        const auto owner = modules_.find(n.inputs()[0]);
        if (owner == modules_.end()) break;
        Named a{owner->second.name.empty() ? attribute : owner->second.name + "." + attribute, owner->second.value.toObject()->getAttr(attribute)};
        const bool module = a.value.isModule();
        const bool read = n.kind() == c10::prim::GetAttr && !module;
        out_.head(TFX_TUPLE, read ? 2 : 1);
        out_.str(a.name);
        if (read) out_.value(c10::IValue(a.value));
        if (n.kind() == c10::prim::GetAttr && module) modules_[n.output()] = std::move(a);
        return;
      }
      default: break;
    }
    out_.head(TFX_TUPLE, 0);
  }

  // source is the line that a node comes from: of the code that was scripted where the
  // file tells it, else of what the file has.
  static std::string source(const torch::jit::Node& n) {
    auto range = n.sourceRange();
    if (auto original = range.findSourceRangeThatGenerated(); original.has_value()) range = *original;
    const auto place = range.file_line_col();
    if (!place.has_value()) return "";
    const auto& [file, line, column] = *place;
    return file + ":" + std::to_string(line);
  }

  Writer& out_;
  std::unordered_map<const torch::jit::Value*, Named> modules_;  // those that code names
};

// script_graph writes a TUPLE of a LIST with the default of each argument, in a TUPLE
// that is empty where there is none, and of the graph of a method, whose first input is
// the module. The program itself stays as it is.
inline int32_t script_graph(uint64_t object, const char* method, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const torch::jit::Module m = script(object);
    const auto found = m.find_method(method);
    TORCH_CHECK_VALUE(found.has_value(), "no method ", method);
    const auto graph = found->graph()->copy();
    torch::jit::Inline(*graph);
    out.head(TFX_TUPLE, 2);
    const auto& args = found->function().getSchema().arguments();
    out.head(TFX_LIST, args.size() - 1);
    for (size_t i = 1; i < args.size(); i++) {  // without self
      const auto& value = args[i].default_value();
      out.head(TFX_TUPLE, value.has_value());
      if (value.has_value()) out.value(c10::IValue(*value));
    }
    GraphWriter(out, m, *graph).block(*graph->block());
  });
}

}  // namespace tfx
