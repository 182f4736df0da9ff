package export

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The values of a torch.save file that have no Go type of their own.
type (
	// A PySet is Python's set, in the order of the file.
	PySet []any

	// A PyGlobal is a class, function or constant of Python that a file names
	// without calling it, by its full name: "torch.per_tensor_affine".
	PyGlobal string

	// An Instance is an object of a class that was let through by [Classes],
	// as the data that it was saved with.
	Instance struct {
		Class string     // full name of the class, or of the function that would make it
		Args  ir.PyTuple // what it would be called with
		State any        // what __setstate__ would get, mostly a *ir.PyDict of attributes
	}
)

// A pickleFunc is a class or function that a pickle may name: what a call of it
// makes.
type pickleFunc struct {
	name  string
	dtype ir.DType // of storage classes; invalid for an untyped one
	kind  funcKind
	call  func(u *unpickler, args ir.PyTuple) (any, error) // nil where it may not be called
}

type funcKind uint8

const (
	plainFunc funcKind = iota
	storageClass
	instanceClass
)

// apply is the call of a function, or the making of an object by a class.
func (u *unpickler) apply(object bool) error {
	a, err := u.pop()
	if err != nil {
		return err
	}
	f, err := u.pop()
	if err != nil {
		return err
	}
	args, ok := a.(ir.PyTuple)
	fn, isFunc := f.(*pickleFunc)
	switch {
	case !ok:
		return ir.Errorf(ir.ErrFormat, "expected a tuple of arguments, got %s", pyTypeName(a))
	case !isFunc:
		return ir.Errorf(ir.ErrUnsupported, "expected a function or class to call, got %s", pyTypeName(f))
	case fn.kind == instanceClass:
		return u.push(&Instance{Class: fn.name, Args: args})
	case fn.call == nil:
		return ir.Errorf(ir.ErrUnsupported, "a call of %s is not supported: expected plain tensors and containers", fn.name)
	case object && fn.name != "torch.nn.parameter.Parameter" && fn.name != "collections.OrderedDict":
		return ir.Errorf(ir.ErrUnsupported, "an object of class %s is not supported", fn.name)
	}
	v, err := fn.call(u, args)
	if err != nil {
		return ir.Errorf(ir.ClassOf(err), "%s: %w", fn.name, err)
	}
	return u.push(v)
}

// build gives an object its state.
func (u *unpickler) build() error {
	state, err := u.pop()
	if err != nil {
		return err
	}
	to, err := u.top()
	if err != nil {
		return err
	}
	switch to := to.(type) {
	case *ir.PyDict:
		attrs, ok := state.(*ir.PyDict)
		if !ok {
			return ir.Errorf(ir.ErrFormat, "expected the attributes of an ordered dict as a dict, got %s", pyTypeName(state))
		}
		if u.attrs == nil {
			u.attrs = map[*ir.PyDict]*ir.PyDict{}
		}
		u.attrs[to] = attrs
		return nil
	case *Instance:
		to.State = state
		return nil
	}
	return ir.Errorf(ir.ErrUnsupported, "expected an ordered dict to give attributes to, got %s", pyTypeName(to))
}

func arity(args ir.PyTuple, least, most int) error {
	if len(args) < least || len(args) > most {
		return ir.Errorf(ir.ErrFormat, "expected %d to %d arguments, got %d", least, most, len(args))
	}
	return nil
}

// items returns what a list or tuple holds.
func items(v any) ([]any, bool) {
	switch v := v.(type) {
	case *pyList:
		return v.items, true
	case ir.PyTuple:
		return v, true
	case PySet:
		return v, true
	}
	return nil, false
}

func callDict(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 0, 1); err != nil {
		return nil, err
	}
	d := &ir.PyDict{}
	if len(args) == 0 {
		return d, nil
	}
	if from, ok := args[0].(*ir.PyDict); ok {
		for k, v := range from.All() {
			d.Set(k, v)
		}
		return d, u.spend(from.Len())
	}
	pairs, ok := items(args[0])
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected pairs, got %s", pyTypeName(args[0]))
	}
	if err := u.spend(len(pairs)); err != nil {
		return nil, err
	}
	for _, p := range pairs {
		pair, ok := items(p)
		if !ok || len(pair) != 2 {
			return nil, ir.Errorf(ir.ErrFormat, "expected a pair, got %s", pyTypeName(p))
		}
		if err := setItems(d, pair); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func callSize(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 1, 1); err != nil {
		return nil, err
	}
	dims, err := u.dims(args[0])
	out := make(ir.PyTuple, len(dims))
	for i, n := range dims {
		out[i] = n
	}
	return out, err
}

func callDevice(_ *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 1, 2); err != nil {
		return nil, err
	}
	name, ok := args[0].(string)
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected the name of a device, got %s", pyTypeName(args[0]))
	}
	if len(args) == 2 {
		index, ok := args[1].(int64)
		if !ok {
			return nil, ir.Errorf(ir.ErrFormat, "expected the index of a device, got %s", pyTypeName(args[1]))
		}
		name = fmt.Sprintf("%s:%d", name, index)
	}
	return ir.ParseDevice(clip(name))
}

func callLayout(_ *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 1, 1); err != nil {
		return nil, err
	}
	name, _ := args[0].(string)
	return ir.ParseLayout(strings.TrimPrefix(clip(name), "torch."))
}

// callEncode makes bytes of the letters that stand for them.
func callEncode(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 2, 2); err != nil {
		return nil, err
	}
	text, ok := args[0].(string)
	if encoding, _ := args[1].(string); !ok || encoding != "latin1" && encoding != "latin-1" {
		return nil, ir.Errorf(ir.ErrUnsupported, "expected bytes as letters of latin1, got %s in %q", pyTypeName(args[0]), clip(encoding))
	}
	if err := u.spend(len(text)); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, ir.Errorf(ir.ErrFormat, "expected letters of latin1, got %q", r)
		}
		out = append(out, byte(r))
	}
	return out, nil
}

// callByteArray copies bytes; bytearray(n), which would make n of them, is
// refused.
func callByteArray(u *unpickler, args ir.PyTuple) (any, error) {
	if len(args) == 0 {
		return []byte{}, nil
	}
	if b, ok := args[0].([]byte); ok && len(args) == 1 {
		return slices.Clone(b), u.spend(len(b))
	}
	return callEncode(u, args) // as protocol 2 writes it
}

func callSet(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 0, 1); err != nil || len(args) == 0 {
		return PySet{}, err
	}
	from, ok := items(args[0])
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected a list, got %s", pyTypeName(args[0]))
	}
	return PySet(slices.Clone(from)), u.spend(len(from))
}

func callComplex(_ *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 2, 2); err != nil {
		return nil, err
	}
	re, ok1 := args[0].(float64)
	im, ok2 := args[1].(float64)
	if !ok1 || !ok2 {
		return nil, ir.Errorf(ir.ErrFormat, "expected two floats, got %s and %s", pyTypeName(args[0]), pyTypeName(args[1]))
	}
	return complex(re, im), nil
}

// pyTypeName names the type of a value as Python does.
func pyTypeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64, *big.Int:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a string"
	case []byte:
		return "bytes"
	case *pyList, []any:
		return "a list"
	case ir.PyTuple:
		return "a tuple"
	case PySet:
		return "a set"
	case *ir.PyDict:
		return "a dict"
	case *Tensor:
		return "a tensor"
	case *storageRef:
		return "a storage"
	case *pickleFunc:
		return v.name
	case *Instance:
		return "a " + v.Class
	}
	return fmt.Sprintf("%T", v)
}
