package torchops

import (
	"fmt"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// A mismatch is an error of arguments that do not fit a schema, for which
// torch.ops raises RuntimeError.
type mismatch struct{ text string }

func mismatchf(format string, args ...any) error { return &mismatch{fmt.Sprintf(format, args...)} }

func (e *mismatch) Error() string { return e.text }

func (e *mismatch) Unwrap() error { return ir.ErrRuntime }

// bind returns one encoded value per argument of the schema. The rules and
// messages are those of torch/csrc/jit/python/pybind_utils.h of 2.15.0, which
// raises RuntimeError for all of them.
func (c *call) bind(args []any, kw []Kwarg) ([]any, error) {
	s := c.schema
	values, err := c.arrange(args, kw)
	if err != nil {
		return nil, err
	}
	for i := range s.Args {
		p := &s.Args[i]
		if values[i] == (missing{}) {
			return nil, mismatchf("%s() is missing value for argument '%s'. Declaration: %s", s.Name(), p.Name, s)
		}
		v, err := normalize(values[i])
		if err != nil {
			return nil, err
		}
		encoded, ok, err := c.encode(v, &p.Type)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, mismatchf("%s() Expected a value of type '%s' for argument '%s' but instead found type '%s'. Position: %d. Declaration: %s",
				s.Name(), pythonType(p.Type), p.Name, typeName(v), i, s)
		}
		if values[i], err = c.fixedLength(encoded, p); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// missing stands for an argument that is not given and has no default.
type missing struct{}

// arrange returns one value per argument of the schema, defaults where none was
// given, without looking at them.
func (c *call) arrange(args []any, kw []Kwarg) ([]any, error) {
	s := c.schema
	args = withoutScopes(args)
	if len(args)+len(kw) > len(s.Args) && !s.VarArgs {
		return nil, mismatchf("%s() expected at most %d argument(s) but received %d argument(s). Declaration: %s",
			s.Name(), len(s.Args), len(args)+len(kw), s)
	}
	if n := s.Positional(); len(args) > n {
		return nil, mismatchf("%s() takes %d positional argument(s) but %d was/were given. Declaration: %s", s.Name(), n, len(args), s)
	}
	values := make([]any, len(s.Args))
	given := make([]bool, len(s.Args))
	for i, a := range args {
		values[i], given[i] = a, true
	}
	for _, k := range kw {
		i, ok := s.Arg(k.Name)
		if !ok {
			return nil, mismatchf("Unknown keyword argument '%s' for operator '%s'. Schema: %s", k.Name, s.Name(), s)
		}
		if given[i] {
			return nil, mismatchf("Argument '%s' specified both as positional and keyword argument. Schema: %s", k.Name, s)
		}
		values[i], given[i] = k.Value, true
	}
	for i := range s.Args {
		if given[i] {
			continue
		}
		if values[i] = s.Args[i].Default; s.Args[i].Default == nil {
			values[i] = missing{}
		}
	}
	return values, nil
}

func withoutScopes(args []any) []any {
	isScope := func(a any) bool { _, ok := a.(inScope); return ok }
	if slices.ContainsFunc(args, isScope) {
		return slices.DeleteFunc(slices.Clone(args), isScope)
	}
	return args
}

// pythonType is what Python's messages call a schema type.
func pythonType(t ir.Type) string {
	switch t.Kind {
	case ir.TypeOptional:
		return "Optional[" + pythonType(*t.Elem) + "]"
	case ir.TypeList:
		return "List[" + pythonType(*t.Elem) + "]"
	case ir.TypeScalar:
		return "number"
	case ir.TypeSymInt, ir.TypeDType, ir.TypeLayout, ir.TypeMemoryFormat:
		return "int"
	case ir.TypeSymFloat:
		return "float"
	case ir.TypeSymBool:
		return "bool"
	}
	return t.String()
}
