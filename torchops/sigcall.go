package torchops

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// A plan says where the arguments of an operator come from when a signature is
// called. It is made when the signature is first called so.
type plan struct {
	once     sync.Once
	operator *libtorch.Operator
	from     []source
	err      error
}

// A source is where one argument of an operator comes from.
type source struct {
	param  int // place among the parameters; see the constants for what is none
	item   int // place in a list of several results, -1 where the parameter is the argument
	absent any // encoded, where nothing is given
}

const (
	fromDefault  = -1
	fromReceiver = -2 // the tensor whose method is called
)

// plan returns how op is called, which is the operator without or with out.
func (s *signature) plan(method, out bool) (*plan, error) {
	p, op := &s.plans[0], s.op
	if out {
		p, op = &s.plans[1], s.outOp
	}
	p.once.Do(func() {
		if p.operator, p.err = libtorch.Find(op); p.err == nil {
			p.from, p.err = s.sources(p.operator.Schema(), method)
		}
	})
	return p, p.err
}

// sources finds the parameter for each argument of a schema: by name, where
// "input" is self; by the order of the call that a deprecated signature names; and
// for the arguments that are written, out or its items.
func (s *signature) sources(schema *ir.Schema, method bool) ([]source, error) {
	from := make([]source, len(schema.Args))
	written := 0
	for i := range schema.Args {
		a := &schema.Args[i]
		src := source{param: fromDefault, item: -1}
		name := a.Name
		if i < len(s.call) {
			name = s.call[i]
		}
		switch {
		case a.KeywordOnly && a.Alias != nil && a.Alias.Write && s.out >= 0:
			src.param = s.out
			if s.params[s.out].kind == paramTensors && a.Type.Kind == ir.TypeTensor {
				src.item = written
			}
			written++
		case method && name == "self":
			src.param = fromReceiver
		default:
			src.param = s.place(name)
		}
		if src.param == fromDefault && name != a.Name {
			n, err := strconv.ParseInt(name, 10, 64) // the 1 that is alpha in an old addmm, the dtype of x.float()
			if err != nil {
				return nil, ir.Errorf(ir.ErrFormat, "signature of %s: expected a parameter, got %q", s.function, name)
			}
			if src.absent = n; a.Type.Kind == ir.TypeDType {
				if src.absent, err = ir.DTypeFromC10(int(n)); err != nil {
					return nil, err
				}
			}
		} else if src.param != fromReceiver {
			var err error
			if src.absent, err = s.absent(a, src.param, method); err != nil {
				return nil, err
			}
		}
		from[i] = src
	}
	return from, nil
}

func (s *signature) place(name string) int {
	for i := range s.params {
		if p := &s.params[i]; p.name == name || p.name == "input" && name == "self" {
			return i
		}
	}
	return fromDefault
}

// absent returns what an operator gets for an argument that is not given.
func (s *signature) absent(a *ir.Param, place int, method bool) (any, error) {
	// Python fills in where a factory makes its tensor; one that is made like
	// another has its device from that.
	if s.options {
		isTensor := func(p parameter) bool { return p.kind == paramTensor && p.name != "out" }
		switch {
		case a.Name == "device" && !method && !slices.ContainsFunc(s.params, isTensor):
			return CPU, nil
		case a.Name == "pin_memory":
			return false, nil
		}
	}
	if place >= 0 && strings.HasPrefix(s.params[place].text, "at::Reduction::") {
		return int64(0), nil // the parser reads numbers, and none here: no reduction, whatever is written
	}
	if a.Default == nil {
		if a.Type.Optional() || place != fromDefault {
			return nil, nil
		}
		return nil, ir.Errorf(ir.ErrFormat, "signature of %s: expected a parameter for argument %s", s.function, a.Name)
	}
	v, err := normalize(a.Default)
	if err != nil {
		return nil, err
	}
	encoded, ok, err := (&call{}).encode(v, &a.Type)
	if !ok && err == nil {
		err = ir.Errorf(ir.ErrFormat, "signature of %s: expected a default for argument %s, got %v", s.function, a.Name, a.Default)
	}
	return encoded, err
}

// arguments appends the bound values to dst as the operator of a plan takes them.
func (c *call) arguments(dst []any, s *signature, p *plan, self any, bound []any) (all []any, err error) {
	first := len(dst)
	for i, src := range p.from {
		a := &c.schema.Args[i]
		v := self
		if src.param >= 0 {
			v = bound[src.param]
		} else if src.param == fromDefault {
			v = nil
		}
		if v == nil {
			dst = append(dst, src.absent)
			continue
		}
		if src.item >= 0 {
			if v, err = s.outItem(v, src.item); err != nil {
				return dst, err
			}
		}
		var param *parameter
		if src.param >= 0 {
			param = &s.params[src.param]
		}
		encoded, err := c.convert(s, param, v, &a.Type)
		if err != nil {
			return dst, err
		}
		dst = append(dst, encoded)
	}
	// what kernels check is checked when all is read, as they would
	for i := range p.from {
		if dst[first+i], err = c.fixedLength(dst[first+i], &c.schema.Args[i]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// outItem returns one of the tensors that several results are written to.
func (s *signature) outItem(v any, i int) (any, error) {
	x, kind := items(v)
	if want := s.params[s.out].size; kind == "" || len(x) != want {
		return nil, typeErrorf("expected tuple of %d elements but got %d", want, len(x))
	}
	return x[i], nil
}

// convert encodes a value that a parameter has accepted. What it tells of lists is
// PyTorch's, see intlistWithDefault in python_arg_parser.h.
func (c *call) convert(s *signature, p *parameter, v any, t *ir.Type) (any, error) {
	if p != nil {
		switch p.kind {
		case paramInts:
			return c.convertInts(s, p, v, t)
		case paramDType:
			if dt, ok := dtypeOf(v); ok {
				v = dt
			}
		case paramDevice:
			if n, ok := v.(int64); ok {
				v = CUDA(int(n)) // an index of the accelerator
			}
		}
	}
	encoded, ok, err := c.encode(v, t)
	if err == nil && !ok {
		if p == nil {
			err = typeErrorf("%s(): expected a tensor to be called on, got %s", s.function, typeName(v))
		} else {
			err = s.wrong(p, 0, true, v, -1)
		}
	}
	return encoded, err
}

func (c *call) convertInts(s *signature, p *parameter, v any, t *ir.Type) (any, error) {
	x, kind := items(v)
	if kind == "" {
		n, ok, err := c.index(v)
		if err != nil || !ok {
			return nil, err
		}
		list := make([]int64, max(p.size, 1))
		for i := range list {
			list[i] = n
		}
		return list, nil
	}
	read := c.index
	if t.Required().Elem.Required().Kind == ir.TypeSymInt {
		read = c.symbolicInt
	}
	list := make([]int64, len(x))
	for i, item := range x {
		n, ok, err := read(item)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, typeErrorf(`%s(): argument '%s' failed to unpack the object at pos %d with error "type must be %s,but got %s"`,
				s.function, p.name, i+1, parameterNames[p.kind], typeName(item))
		}
		list[i] = n
	}
	// kernels take one number for all dimensions; the bridge insists on the length
	return list, nil
}

// index reads an index: an int, a bool, or the one element of a tensor of ints.
func (c *call) index(v any) (n int64, ok bool, err error) {
	if t, isTensor := v.(*Tensor); isTensor {
		if !isIndex(t) {
			return 0, false, nil
		}
		if v, err = item(c.mode, t); err != nil {
			return 0, false, err
		}
	}
	k := kindOf(v)
	return asInt(v), k == intKind || k == boolKind, nil
}
