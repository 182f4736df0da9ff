package passes

import (
	"iter"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
)

// A NodeSize is what a node takes in memory, in bytes.
type NodeSize struct {
	Output int64 // of its value
	Total  int64 // with the parameters of the module that it calls
}

// NodeTensorMeta returns what [ShapeProp] noted of a node that yields one tensor. It
// fails with class ir.ErrRuntime where nothing is. Same as
// torch.fx.passes.graph_manipulation.get_tensor_meta.
func NodeTensorMeta(n *ir.Node) (ir.TensorMeta, error) {
	m, ok := n.Meta().Get(ir.MetaTensorMeta).(ir.TensorMeta)
	if !ok {
		return m, ir.Errorf(ir.ErrRuntime, "Node %s has no tensor metadata associated with it! Check that shape propagation has run.", n)
	}
	return m, nil
}

// SizeOfNode returns what a node of m's graph takes, in bytes of the dtype of its
// value. Symbolic sizes count as they were at export. It fails where [ShapeProp]
// noted no tensor. Same as torch.fx.passes.graph_manipulation.get_size_of_node.
func SizeOfNode(m *ir.GraphModule, n *ir.Node) (NodeSize, error) {
	if m == nil {
		return NodeSize{}, ir.Errorf(ir.ErrInput, "sizes: expected a graph module, got nil")
	}
	meta, err := NodeTensorMeta(n)
	if err != nil {
		return NodeSize{}, err
	}
	elements := int64(1)
	for _, s := range meta.Sizes {
		elements *= s.Hint()
	}
	all := elements
	if n.Op() == ir.CallModule {
		v, _ := m.Attr(n.Target().String())
		all += parameterElements(v)
	}
	size := int64(meta.DType.Size())
	return NodeSize{Output: size * elements, Total: size * all}, nil
}

// parameterElements counts the elements of a module's parameters, each tensor once.
func parameterElements(v any) (n int64) {
	switch v := v.(type) {
	case nn.Module:
		seen := map[any]bool{}
		for t := range nn.Tensors(v) {
			if t.Kind == nn.Parameter && t.Tensor != nil && !seen[t.Tensor] {
				seen[t.Tensor] = true
				n += int64(t.Tensor.Numel())
			}
		}
	case *ir.GraphModule:
		for _, a := range v.Attrs() {
			if t, ok := a.(ir.TensorLike); ok {
				meta := t.TensorMeta()
				if !meta.RequiresGrad {
					continue
				}
				elements := int64(1)
				for _, s := range meta.Sizes {
					elements *= s.Hint()
				}
				n += elements
			} else {
				n += parameterElements(a)
			}
		}
	}
	return n
}

// NodeSizes yields the nodes before the output with their sizes, up to the first
// without. Same as torch.fx.passes.graph_manipulation.get_size_of_all_nodes, which
// notes them on the nodes.
func NodeSizes(m *ir.GraphModule) iter.Seq2[*ir.Node, NodeSize] {
	return func(yield func(*ir.Node, NodeSize) bool) {
		for n := range m.Graph().Nodes() {
			if n.Op() == ir.Output {
				return
			}
			size, err := SizeOfNode(m, n)
			if err != nil || !yield(n, size) {
				return
			}
		}
	}
}
