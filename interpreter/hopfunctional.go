package interpreter

import (
	"fmt"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// with_effects(token, operator, *operands): the call, with a new token before
// its results. Tokens are empty tensors that only order the calls.
func withEffects(r *Run, args []any, kwargs []torch.Kwarg) (any, error) {
	o := operands{name: "with_effects", args: args}
	fn := o.fn(1)
	if o.err != nil {
		return nil, o.err
	}
	w := r.work()
	defer w.close()
	out, err := w.hold(r.invoke(fn, o.rest(2), kwargs))
	if err != nil {
		return nil, err
	}
	token, err := w.op("aten::empty.memory_format", []any{int64(0)})
	if err != nil {
		return nil, err
	}
	return w.keep(prepend(token, out))
}

// prepend returns the tuple of first and the results of an operator.
func prepend(first, out any) ir.PyTuple {
	if items, ok := out.(ir.PyTuple); ok {
		return append(ir.PyTuple{first}, items...)
	}
	return ir.PyTuple{first, out}
}

// auto_functionalized(operator, **arguments): the operator on copies of what it
// writes; its results, then the copies
func autoFunctionalized(r *Run, args []any, kwargs []torch.Kwarg) (any, error) {
	f, err := newFunctional(r, "auto_functionalized", args, kwargs)
	if err != nil {
		return nil, err
	}
	defer f.w.close()
	copies := make([]any, 0, len(f.written))
	for _, p := range f.written {
		c, err := f.copyOf(f.kwargs[p.Name])
		if err != nil {
			return nil, err
		}
		f.kwargs[p.Name] = c
		copies = append(copies, c)
	}
	return f.call(copies)
}

// auto_functionalized_v2(operator, **arguments, _all_bases=[...]): what the
// operator writes is told as views of the bases; it runs on such views of
// copies of the bases; its results, then the copies
func autoFunctionalizedV2(r *Run, args []any, kwargs []torch.Kwarg) (any, error) {
	f, err := newFunctional(r, "auto_functionalized_v2", args, kwargs)
	if err != nil {
		return nil, err
	}
	defer f.w.close()
	if f.isOut() {
		return f.callOut()
	}
	bases, _ := list(f.take("_all_bases"))
	copies, err := f.copyOf(bases)
	if err != nil {
		return nil, err
	}
	f.bases, _ = list(copies)
	for _, p := range f.written {
		if f.kwargs[p.Name], err = f.view(p); err != nil {
			return nil, err
		}
	}
	return f.call(f.bases)
}

// functional is one call of a functionalised operator.
type functional struct {
	w       work
	fn      *ir.Func
	kwargs  map[string]any
	order   []string   // names of kwargs as given
	written []ir.Param // arguments that the operator writes
	bases   []any
}

func newFunctional(r *Run, name string, args []any, kwargs []torch.Kwarg) (*functional, error) {
	o := operands{name: name, args: args}
	fn := o.fn(0)
	if o.err != nil {
		return nil, o.err
	}
	if fn.Kind() != ir.Overload {
		return nil, ir.Errorf(ir.ErrUnsupported, "%s of %s: expected an operator of a library", name, fn)
	}
	op, err := libtorch.Find(fn.Op())
	if err != nil {
		return nil, err
	}
	f := &functional{w: r.work(), fn: fn, kwargs: make(map[string]any, len(kwargs))}
	for _, k := range kwargs {
		f.kwargs[k.Name] = k.Value
		f.order = append(f.order, k.Name)
	}
	for _, p := range op.Schema().Args {
		if p.Alias != nil && p.Alias.Write {
			f.written = append(f.written, p)
		}
	}
	return f, nil
}

// take removes an argument that describes views.
func (f *functional) take(name string) any {
	v := f.kwargs[name]
	delete(f.kwargs, name)
	return v
}

func (f *functional) has(name string) bool { _, ok := f.kwargs[name]; return ok }

// copyOf clones a tensor, or the tensors of a list, with strides and offset;
// None stays None.
func (f *functional) copyOf(v any) (any, error) {
	if items, ok := list(v); ok {
		out := make([]any, len(items))
		for i, item := range items {
			var err error
			if out[i], err = f.copyOf(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	t, ok := v.(*torch.Tensor)
	if !ok {
		return v, nil
	}
	extent, strides, shape := t.StorageOffset()+1, t.Strides(), t.Shape()
	for i, n := range shape {
		if n == 0 {
			extent = 0
			break
		}
		extent += (n - 1) * strides[i]
	}
	all, err := f.w.op("aten::as_strided", t, sizes([]int{extent}), sizes([]int{1}), int64(0))
	if err != nil {
		return nil, err
	}
	buffer, err := f.w.op("aten::clone", all)
	if err != nil {
		return nil, err
	}
	return f.w.op("aten::as_strided", buffer, sizes(shape), sizes(strides), int64(t.StorageOffset()))
}

// view makes the argument p from its description.
func (f *functional) view(p ir.Param) (any, error) {
	if !isTensorList(p.Type) {
		return f.viewOf("_" + p.Name)
	}
	n, ok := f.take("_" + p.Name + "_length").(int64)
	if !ok {
		return nil, nil
	}
	items := make([]any, n)
	for i := range items {
		var err error
		if items[i], err = f.viewOf(fmt.Sprintf("_%s_%d", p.Name, i)); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func isTensorList(t ir.Type) bool {
	if t.Kind == ir.TypeOptional && t.Elem != nil {
		t = *t.Elem
	}
	return t.Kind == ir.TypeList
}

// viewOf makes the view that the arguments beginning with prefix describe.
func (f *functional) viewOf(prefix string) (any, error) {
	i, ok := f.take(prefix + "_base_index").(int64)
	if !ok {
		return nil, nil
	}
	if i < 0 || i >= int64(len(f.bases)) {
		return nil, ir.Errorf(ir.ErrIndex, "auto_functionalized_v2: %s_base_index: expected below %d, got %d", prefix, len(f.bases), i)
	}
	base := f.bases[i]
	switch {
	case f.has(prefix + "_alias"):
		f.take(prefix + "_alias")
		return f.w.op("aten::alias", base)
	case f.has(prefix + "_storage_offset"):
		return f.w.op("aten::as_strided", base, f.take(prefix+"_size"), f.take(prefix+"_stride"), f.take(prefix+"_storage_offset"))
	case f.has(prefix + "_slice_dim"):
		return f.w.op("aten::slice.Tensor", base, f.take(prefix+"_slice_dim"), f.take(prefix+"_slice_start"), f.take(prefix+"_slice_end"))
	}
	return base, nil
}

// isOut reports whether the operator writes to out arguments, which then are
// told by their shapes and made here.
func (f *functional) isOut() bool {
	return len(f.written) > 0 && f.has("_"+f.written[0].Name+"_dtype")
}

func (f *functional) callOut() (any, error) {
	for _, p := range f.written {
		prefix := "_" + p.Name
		t, err := f.w.hold(torch.CallMode(&f.w.r.mode, "aten::empty_strided",
			[]any{f.take(prefix + "_size"), f.take(prefix + "_stride")},
			[]torch.Kwarg{torch.Kw("dtype", f.take(prefix+"_dtype")), torch.Kw("device", f.take(prefix+"_device"))}))
		if err != nil {
			return nil, err
		}
		f.kwargs[p.Name] = t
		f.order = append(f.order, p.Name)
	}
	out, err := f.invoke()
	if err != nil {
		return nil, err
	}
	return f.w.keep(out)
}

// invoke calls the operator with the arguments as they now are.
func (f *functional) invoke() (any, error) {
	var kwargs []torch.Kwarg
	for _, name := range f.order {
		if f.has(name) {
			kwargs = append(kwargs, torch.Kw(name, f.take(name)))
		}
	}
	for _, p := range f.written {
		if f.has(p.Name) {
			kwargs = append(kwargs, torch.Kw(p.Name, f.take(p.Name)))
		}
	}
	return f.w.hold(f.w.r.invoke(f.fn, nil, kwargs))
}

// call calls the operator and returns its results followed by written.
func (f *functional) call(written []any) (any, error) {
	out, err := f.invoke()
	if err != nil {
		return nil, err
	}
	if items, ok := out.(ir.PyTuple); ok {
		return f.w.keep(append(append(ir.PyTuple{}, items...), written...))
	}
	return f.w.keep(append(ir.PyTuple{out}, written...))
}
