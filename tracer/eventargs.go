package tracer

import (
	"fmt"
	"math"
	"reflect"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// arguments turns one value per argument of the schema into those of a node,
// without the defaults: by position up to the first keyword-only one.
func (b *below) arguments(schema *ir.Schema, column []*libtorch.Recorded) (args []ir.Arg, kwargs []ir.Keyword, err error) {
	positional := 0
	for i, p := range schema.Args {
		same := make([]any, len(column))
		for k, e := range column {
			same[k] = e.Args[i]
		}
		a, err := b.argument(same)
		if err != nil {
			return nil, nil, fmt.Errorf("argument %s: %w", p.Name, err)
		}
		switch given := !isDefault(p, a); {
		case p.KeywordOnly && given:
			kwargs = append(kwargs, ir.Kw(p.Name, a))
		case !p.KeywordOnly:
			args = append(args, a)
			if given {
				positional = len(args)
			}
		}
	}
	return args[:positional], kwargs, nil
}

// isDefault reports whether leaving out a says the same. One number is the default
// of a list of fixed length.
func isDefault(p ir.Param, a ir.Arg) bool {
	if p.Default == nil {
		return false
	}
	list, isList := a.(ir.List)
	if _, one := p.Default.(ir.Int); !isList || !one {
		return ir.EqualArgs(a, p.Default)
	}
	for _, item := range list.All() {
		if !ir.EqualArgs(item, p.Default) {
			return false
		}
	}
	return list.Len() > 0
}

// argument turns what a value was in each run into an argument of a node.
func (b *below) argument(same []any) (ir.Arg, error) {
	switch v := same[0].(type) {
	case *libtorch.Tensor:
		return b.tensor(same)
	case []*libtorch.Tensor:
		return items(b, same, v, b.tensor)
	case []any:
		return items(b, same, v, b.argument)
	case []int64:
		return items(b, same, v, b.argument)
	case int64:
		return b.integer(same)
	}
	for k, v := range same[1:] {
		if f, ok := v.(float64); ok && math.IsNaN(f) {
			continue // it equals nothing
		}
		if !reflect.DeepEqual(v, same[0]) {
			return nil, ir.Errorf(ir.ErrTrace, "expected the same for all sizes, got %v with %s and %v with %s",
				same[0], sizesText(b.symbols, b.sizes[0]), v, sizesText(b.symbols, b.sizes[k+1]))
		}
	}
	return b.literal(same[0])
}

// items turns what a list was in each run into one.
func items[T any](b *below, same []any, first []T, f func([]any) (ir.Arg, error)) (ir.Arg, error) {
	args := make([]ir.Arg, len(first))
	column := make([]any, len(same))
	for i := range first {
		for k := range same {
			list, _ := same[k].([]T)
			if len(list) != len(first) {
				return nil, ir.Errorf(ir.ErrTrace, "expected as many items for all sizes, got %d with %s and %d with %s",
					len(first), sizesText(b.symbols, b.sizes[0]), len(list), sizesText(b.symbols, b.sizes[k]))
			}
			column[k] = list[i]
		}
		a, err := f(column)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		args[i] = a
	}
	return ir.ListOf(args...), nil
}

// tensor returns what stands for a tensor, an attribute where nothing does yet.
func (b *below) tensor(same []any) (ir.Arg, error) {
	tensors := make([]*libtorch.Tensor, len(same))
	for k := range same {
		tensors[k], _ = same[k].(*libtorch.Tensor)
	}
	t := tensors[0]
	if !b.same(tensors) {
		return nil, ir.Errorf(ir.ErrTrace, "expected the result of one operator for all sizes, got those of two: the code decides by a size")
	}
	if t == nil {
		return ir.None{}, nil
	}
	if a, ok := b.values[t.ID()]; ok {
		return a, nil
	}
	info, err := t.Info()
	if err != nil {
		return nil, err
	}
	has, named := b.state[t.ID()]
	if !named {
		own, err := t.Ref()
		if err != nil {
			return nil, err
		}
		has = stated{fmt.Sprintf("_tensor_constant%d", b.constants), torch.FromHandle(own)}
		b.constants++
	}
	b.attrs[has.path] = has.tensor
	n := b.graph.GetAttr(has.path)
	meta, err := b.meta([]libtorch.TensorInfo{info})
	if err != nil {
		return nil, err
	}
	n.Meta().Set(ir.MetaVal, meta)
	b.values[t.ID()] = n
	return n, nil
}

// same reports whether the tensors, one of each run, have appeared at the same
// place, and remembers those that have not appeared at all.
func (b *below) same(tensors []*libtorch.Tensor) bool {
	if len(tensors) == 1 {
		return true // there is nothing to compare with
	}
	number, seen := 0, false
	for k, t := range tensors {
		if t == nil {
			if tensors[0] != nil {
				return false
			}
			continue
		}
		n, ok := b.runs[k].numbers[t.ID()]
		if k == 0 {
			number, seen = n, ok
		} else if tensors[0] == nil || ok != seen || n != number {
			return false
		}
	}
	if !seen {
		b.numbered++
		for k, t := range tensors {
			if t != nil {
				b.runs[k].numbers[t.ID()] = b.numbered
			}
		}
	}
	return true
}

// integer turns what a number was in each run into one, or into a node that
// computes it from the sizes of the inputs.
func (b *below) integer(same []any) (ir.Arg, error) {
	values := make([]int64, len(same))
	for k, v := range same {
		n, ok := v.(int64)
		if !ok {
			return nil, ir.Errorf(ir.ErrTrace, "expected a number for all sizes, got %v", v)
		}
		values[k] = n
	}
	s, err := b.solve(values)
	if err != nil {
		return nil, err
	}
	return b.compute(s)
}

func (b *below) solve(values []int64) (*size, error) {
	if len(values) == 1 {
		return number64(values[0]), nil // a tensor that is the same in all runs
	}
	s, ok := solve(values, b.symbols, b.sizes)
	if !ok {
		for k, v := range values {
			if v != values[0] {
				return nil, ir.Errorf(ir.ErrTrace, "expected a number that sizes explain, got %d with %s and %d with %s",
					values[0], sizesText(b.symbols, b.sizes[0]), v, sizesText(b.symbols, b.sizes[k]))
			}
		}
	}
	return s, nil
}

// compute returns a number, or the node that computes it, made once.
func (b *below) compute(s *size) (ir.Arg, error) {
	if s.op == 'n' {
		return ir.Int(s.n), nil
	}
	text := s.text(b.symbols)
	if n, ok := b.computed[text]; ok {
		return n, nil
	}
	var n *ir.Node
	if s.op == 's' {
		d := b.symbols[s.n].dims[0]
		n = b.graph.CallFunction(ir.OverloadOf("aten::sym_size.int"), []ir.Arg{b.graph.Find(ir.Placeholder, nil)[d.Input], ir.Int(d.Dim)}, ir.Name("sym_size_int"))
	} else {
		args := make([]ir.Arg, len(s.parts))
		for i, p := range s.parts {
			a, err := b.compute(p)
			if err != nil {
				return nil, err
			}
			args[i] = a
		}
		name := map[byte]string{'+': "operator.add", '*': "operator.mul", '/': "operator.floordiv"}[s.op]
		n = b.graph.CallFunction(ir.FuncOf(name), args)
	}
	known, err := b.known(s)
	if err != nil {
		return nil, err
	}
	n.Meta().Set(ir.MetaVal, ir.SymScalar{Kind: ir.TypeSymInt, Expr: known.Expr(), Hint: ir.Int(known.Hint())})
	if b.computed == nil {
		b.computed = map[string]*ir.Node{}
	}
	b.computed[text] = n
	return n, nil
}

// known puts a size into the graph's terms.
func (b *below) known(s *size) (ir.Size, error) {
	hint := s.at(b.sizes[0])
	if s.op == 'n' {
		return ir.SizeOf(hint), nil
	}
	e, err := ir.ParseExpr(s.text(b.symbols))
	if err != nil {
		return ir.Size{}, err
	}
	return ir.SymbolicSize(e, hint), nil
}

// meta puts what libtorch knows of a tensor in each run into the graph's terms.
func (b *below) meta(facts []libtorch.TensorInfo) (ir.TensorMeta, error) {
	info := facts[0]
	m := ir.TensorMeta{DType: info.DType, Device: info.Device, Layout: info.Layout, RequiresGrad: info.RequiresGrad}
	for k, f := range facts {
		if len(f.Sizes) != len(info.Sizes) || f.DType != info.DType {
			return m, ir.Errorf(ir.ErrTrace, "expected the same dtype and number of dimensions for all sizes, got %v with shape %v and %v with shape %v, with %s",
				info.DType, info.Sizes, f.DType, f.Sizes, sizesText(b.symbols, b.sizes[k]))
		}
	}
	column := func(f func(libtorch.TensorInfo) int64) (ir.Size, error) {
		values := make([]int64, len(facts))
		for k := range facts {
			values[k] = f(facts[k])
		}
		s, err := b.solve(values)
		if err != nil {
			return ir.Size{}, err
		}
		return b.known(s)
	}
	for i := range info.Sizes {
		n, err := column(func(f libtorch.TensorInfo) int64 { return f.Sizes[i] })
		if err != nil {
			return m, fmt.Errorf("size %d: %w", i, err)
		}
		m.Sizes = append(m.Sizes, n)
	}
	for i := range info.Strides {
		n, err := column(func(f libtorch.TensorInfo) int64 { return f.Strides[i] })
		if err != nil {
			return m, fmt.Errorf("stride %d: %w", i, err)
		}
		m.Strides = append(m.Strides, n)
	}
	var err error
	m.StorageOffset, err = column(func(f libtorch.TensorInfo) int64 { return f.Offset })
	return m, err
}

// literal turns a value that holds no tensor into an argument.
func (b *below) literal(v any) (ir.Arg, error) {
	switch v := v.(type) {
	case nil:
		return ir.None{}, nil
	case *libtorch.Generator:
		return nil, ir.Errorf(ir.ErrUnsupported, "a generator has no place in a graph: seed the default one")
	case *libtorch.Object:
		return nil, ir.Errorf(ir.ErrUnsupported, "an object of libtorch has no place in a graph")
	case *libtorch.Tensor:
		return nil, ir.Errorf(ir.ErrType, "expected a value that is no tensor, got one")
	case ir.Arg:
		return v, nil
	case []float64:
		return literals(v, func(f float64) ir.Arg { return ir.Float(f) })
	case []bool:
		return literals(v, func(t bool) ir.Arg { return ir.Bool(t) })
	case []string:
		return literals(v, func(s string) ir.Arg { return ir.Str(s) })
	case []complex128:
		return literals(v, func(c complex128) ir.Arg { return ir.Complex(c) })
	}
	if a, ok := number(v); ok {
		return a, nil
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "a %T has no place in a graph", v)
}

func literals[T any](v []T, f func(T) ir.Arg) (ir.Arg, error) {
	args := make([]ir.Arg, len(v))
	for i, item := range v {
		args[i] = f(item)
	}
	return ir.ListOf(args...), nil
}
