package tracer

import (
	"regexp"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Annotate gives the node of a traced value a type, in Python's notation, and
// returns the value; a value that is not traced it returns as it is. It panics
// with a *torch.Error where the node has a type. Same as torch.fx.annotate.annotate.
func Annotate[T any](v T, typ string) T {
	value, traced := torch.ValueOf(v)
	if !traced {
		return v
	}
	t, ok := value.Recorder().(*Tracer)
	if !ok {
		return v
	}
	n := t.node(value)
	if n.Type() != "" {
		fail(ir.ErrRuntime, "Tried to annotate a value that already had a type on it! Existing type is %s and new type is %s. "+
			"This could happen if you tried to annotate a function parameter value (in which case you should use the type slot "+
			"on the function signature) or you called annotate on the same value twice", typeObject(n.Type()), typeObject(typ))
	}
	n.SetType(typ)
	return v
}

var plainClass = regexp.MustCompile(`^[\w.]+$`)

// typeObject is Python's str of a type: of a class, unlike of a generic, not its
// name alone.
func typeObject(typ string) string {
	if plainClass.MatchString(typ) {
		return "<class '" + typ + "'>"
	}
	return typ
}
