package tracer

import (
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An Option changes how a Tracer traces.
type Option func(*config)

type config struct {
	leaf       func(m nn.Module, path string) bool
	concrete   map[string]any
	positional []any        // concrete arguments by position, nil for none
	signature  nn.Signature // Params is nil where none was given
	fault      error        // of the options
	method     any
	stacks     bool
	buffers    bool
	mutable    bool
	shapes     bool
	create     func(s NodeSpec, create func(NodeSpec) (*ir.Node, error)) (*ir.Node, error)
	call       func(m nn.Module, path string, args []any, call func() any) any
	arg        func(v any, lower func(any) ir.Arg) ir.Arg
	truth      func(v torch.Value) (truth, ok bool)
	length     func(v torch.Value) (n int, ok bool)
	keys       func(v torch.Value) (keys []string, ok bool)
}

// IsLeaf decides which modules stay one call_module node. Without it those of
// package nn do, containers excepted; see [DefaultIsLeaf].
func IsLeaf(f func(m nn.Module, path string) bool) Option {
	return func(c *config) { c.leaf = f }
}

// DefaultIsLeaf reports whether a module stays one node when [IsLeaf] is not
// given.
func DefaultIsLeaf(m nn.Module, path string) bool { return nn.IsLayer(m) }

// Concrete fixes arguments, by name, to values that the graph is specialised
// for. Each stays a parameter of the graph, and the graph checks a number, a
// text and None against what a caller gives.
//
// A value may be a container: a slice, an ir.PyTuple, a map with string keys, an
// *ir.PyDict where the order of keys matters, or a struct. Then each of its
// leaves is a placeholder, and the graph takes and returns containers, by an
// ir.PyTreeCodeGen. A leaf that is [PH] stays symbolic.
func Concrete(args map[string]any) Option { return func(c *config) { c.concrete = args } }

// ConcreteArgs is [Concrete] by position, one value for each parameter. For a
// variadic parameter, the only one of the function, it gives any number of them.
func ConcreteArgs(args ...any) Option {
	return func(c *config) { c.positional = append([]any{}, args...) }
}

// Signature gives the parameter list of a function in Python's notation:
// "x, y=None, *args, k=1, **kwargs", with annotations where the graph should have
// them: "x: torch.Tensor -> torch.Tensor"; see nn.ParseSignature. What stands after a
// star stands last in the Go function too; the starred parameters themselves are
// of type torch.Value. Modules have theirs in a tag; see package nn.
func Signature(text string) Option {
	return func(c *config) { c.signature, c.fault = nn.ParseSignature(text) }
}

// Parameters gives the parameter list of a function, with any defaults.
func Parameters(params ...nn.Param) Option {
	return func(c *config) {
		c.signature, c.fault = nn.Signature{Params: append([]nn.Param{}, params...)}, nil
	}
}

// Method traces another method of a module than Forward, given as a method
// expression: Method((*Model).Encode).
func Method(f any) Option { return func(c *config) { c.method = f } }

// RecordStackTraces notes the Go frames of each call in the node's meta.
func RecordStackTraces() Option { return func(c *config) { c.stacks = true } }

// ProxyBuffers makes buffers stand for nodes, as parameters do. Without it they
// are real tensors: what is computed from buffers alone becomes a constant.
func ProxyBuffers() Option { return func(c *config) { c.buffers = true } }

// ConstantParamShapes makes the shapes of parameters constants of the trace, so
// that model code may branch on them. Without it asking a parameter for its size
// is a node. Same as param_shapes_constant of torch.fx's Tracer.
func ConstantParamShapes() Option { return func(c *config) { c.shapes = true } }

// CheckMutable refuses calls of functions that write to an argument.
func CheckMutable() Option { return func(c *config) { c.mutable = true } }

// A NodeSpec is a node that a trace is about to make.
type NodeSpec struct {
	Op     ir.Op
	Target ir.Target
	Args   []ir.Arg
	Kwargs []ir.Keyword
	Name   string // to be made unique; "" is derived from the target
	Type   string // Python annotation, "" for none
}

// OnCreateNode makes f create every node of a trace. It may change the
// specification before it hands it to create, and the node afterwards.
func OnCreateNode(f func(s NodeSpec, create func(NodeSpec) (*ir.Node, error)) (*ir.Node, error)) Option {
	return func(c *config) { c.create = f }
}

// OnCallModule makes f do every module call. call records or runs the module, as
// [IsLeaf] has it, and what f returns is the result.
func OnCallModule(f func(m nn.Module, path string, args []any, call func() any) any) Option {
	return func(c *config) { c.call = f }
}

// OnCreateArg makes f turn every value of model code into an argument of a
// node, items of containers included. lower is what happens without it.
func OnCreateArg(f func(v any, lower func(any) ir.Arg) ir.Arg) Option {
	return func(c *config) { c.arg = f }
}

// OnBool answers what the truth of a traced value is. ok false leaves it an
// error.
func OnBool(f func(v torch.Value) (truth, ok bool)) Option { return func(c *config) { c.truth = f } }

// OnLen answers how many items a traced value has, for loops over it and its
// length. ok false leaves both an error.
func OnLen(f func(v torch.Value) (n int, ok bool)) Option { return func(c *config) { c.length = f } }

// OnKeys answers which keys a traced dict has. ok false leaves it an error.
func OnKeys(f func(v torch.Value) (keys []string, ok bool)) Option {
	return func(c *config) { c.keys = f }
}
