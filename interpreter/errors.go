package interpreter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A NodeError reports a failure while a node was run.
type NodeError struct {
	Node   string   // name in its graph
	Op     string   // what it calls, "torch.ops.aten.addmm.default"; the opcode where it calls nothing
	Args   []string // its arguments: "self: f32[64] cpu", "mat1: f32[8, 32] cpu"
	Text   string   // the node as Node.Format writes it
	Source string   // the frames of the model's source, innermost last; "" where the file has none
	Err    error    // the cause
}

// Error returns the cause with the node, its arguments and, as torch.fx does,
// its text and the source that it was made from.
func (e *NodeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run node %s (%s): %v", e.Node, e.Op, e.Err)
	if _, ok := errors.AsType[*NodeError](e.Err); ok {
		return b.String() // the inner node has said where
	}
	if len(e.Args) > 0 {
		fmt.Fprintf(&b, "\n\nArguments: %s", strings.Join(e.Args, ", "))
	}
	source := e.Source
	if source == "" {
		source = "None"
	}
	fmt.Fprintf(&b, "\n\nWhile executing %s\nOriginal traceback:\n%s", e.Text, source)
	return b.String()
}

// Unwrap returns the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// nodeError describes the failure of the node that r is at.
func (r *Run) nodeError(cause error) error {
	args, kwargs, err := r.Args(r.node)
	if err != nil {
		args, kwargs = nil, nil
	}
	return newNodeError(r.node, cause, args, kwargs)
}

// newNodeError describes the failure of a node with these arguments.
func newNodeError(n *ir.Node, cause error, args []any, kwargs []torch.Kwarg) error {
	e := &NodeError{Node: n.Name(), Op: n.Op().String(), Text: n.Format(), Err: cause}
	if n.Op() != ir.Placeholder && n.Op() != ir.Output {
		e.Op = n.Target().String()
	}
	e.Source, _ = n.Meta().Get(ir.MetaStackTrace).(string)
	e.Source = strings.TrimRight(e.Source, "\n")
	var operator *torch.Error
	if errors.As(cause, &operator) && operator == cause {
		e.Args, e.Err = operator.Args, operator.Err
		return e
	}
	for i, a := range args {
		e.Args = append(e.Args, fmt.Sprintf("%d: %s", i, torch.Describe(a)))
	}
	for _, k := range kwargs {
		e.Args = append(e.Args, k.Name+": "+torch.Describe(k.Value))
	}
	return e
}
