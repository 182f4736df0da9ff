package ir

import (
	"iter"
	"maps"
	"slices"
)

// Meta holds facts about a node under Python's keys, in insertion order. The
// zero value is empty. Values are not copied; treat them as immutable.
type Meta struct {
	keys   []string
	values map[string]any
}

// The keys that this project reads or writes, with the type of the value.
const (
	MetaVal              = "val"               // TensorMeta, SymScalar, or []any of these for several results
	MetaTensorMeta       = "tensor_meta"       // TensorMeta, as shape propagation notes it
	MetaExampleValue     = "example_value"     // as MetaVal, from torch.compile
	MetaStackTrace       = "stack_trace"       // string, Python's or Go's frames
	MetaNNModuleStack    = "nn_module_stack"   // []ModuleCall, outermost first
	MetaSourceFnStack    = "source_fn_stack"   // string, as the file has it
	MetaTorchFn          = "torch_fn"          // string, as the file has it
	MetaFromNode         = "from_node"         // []NodeSource, or string as the file has it
	MetaCustom           = "custom"            // Dict, or string as the file has it
	MetaIsWrapped        = "is_wrapped"        // bool: the call of a wrapped function
	MetaDesc             = "desc"              // string of a placeholder, []string of an output: comments of expanded code
	MetaBoxedArgs        = "boxed_arg_indices" // []int: positional arguments that code passes through a local
	MetaAutogradBackward = "autograd_backward" // bool: computed by the backward pass
	MetaRecompute        = "recompute"         // string: name of the checkpoint policy
	MetaACGraphID        = "ac_graph_id"       // int: number of the checkpointed region
)

// A ModuleCall is one level of a node's nn_module_stack.
type ModuleCall struct {
	Key  string // identifies the call
	Path string // qualified name of the module; "" for the root
	Type string // qualified name of its class
}

// Get returns the value under key, or nil.
func (m *Meta) Get(key string) any { return m.values[key] }

// Has reports whether key is there.
func (m *Meta) Has(key string) bool { _, ok := m.values[key]; return ok }

// Set stores value under key.
func (m *Meta) Set(key string, value any) {
	if m.values == nil {
		m.values = map[string]any{}
	}
	if _, ok := m.values[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.values[key] = value
}

// Delete removes key.
func (m *Meta) Delete(key string) {
	if _, ok := m.values[key]; ok {
		delete(m.values, key)
		m.keys = slices.DeleteFunc(m.keys, func(k string) bool { return k == key })
	}
}

// Len returns the number of keys.
func (m *Meta) Len() int { return len(m.keys) }

// All yields keys and values in insertion order.
func (m *Meta) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, k := range m.keys {
			if !yield(k, m.values[k]) {
				return
			}
		}
	}
}

// CopyFrom makes m a shallow copy of src.
func (m *Meta) CopyFrom(src *Meta) {
	m.keys, m.values = slices.Clone(src.keys), maps.Clone(src.values)
}
