package parity

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A callTensor describes one tensor of a recorded call.
type callTensor struct {
	DType        string  `json:"dtype"`
	Size         []int64 `json:"size"`
	Stride       []int64 `json:"stride"` // absent: contiguous
	Offset       int64   `json:"offset"`
	Key          *string `json:"s"`     // in the file of tensors, null: no elements
	Share        *int    `json:"share"` // arguments with one number lie on one storage
	Alias        *int    `json:"alias"` // argument that a result shares its storage with
	Conj         bool    `json:"conj"`
	Neg          bool    `json:"neg"`
	RequiresGrad bool    `json:"requires_grad"`
	Layout       string  `json:"layout"` // "": strided; others are made of parts, tensors of the call
	Indices      *int    `json:"indices"`
	Values       *int    `json:"values"`
	Coalesced    bool    `json:"coalesced"`
	Crow         *int    `json:"crow"`
	Col          *int    `json:"col"`
	CCol         *int    `json:"ccol"`
	Row          *int    `json:"row"`
}

// compressed returns the parts of a compressed sparse tensor, nil where it is none.
func (e *callTensor) compressed() (outer, inner *int) {
	if e.Crow != nil {
		return e.Crow, e.Col
	}
	return e.CCol, e.Row
}

// callValues decodes the values of a call. Each has its own tensors: the ones that
// the call gets, and the ones it is compared with.
type callValues struct {
	call   *recordedCall
	data   map[string][]byte
	scope  *torch.Scope
	made   map[int]*torch.Tensor
	shared map[int]*libtorch.Tensor
}

func (v *callValues) arguments() (args []any, kw []torch.Kwarg, err error) {
	for _, a := range v.call.Args {
		value, err := v.value(a)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, value)
	}
	for _, k := range v.call.Kwargs {
		value, err := v.value(k.value)
		if err != nil {
			return nil, nil, err
		}
		kw = append(kw, torch.Kw(k.name, value))
	}
	return args, kw, nil
}

// tensor returns tensor i of the call, which belongs to the scope.
func (v *callValues) tensor(i int) (*torch.Tensor, error) {
	if t, ok := v.made[i]; ok {
		return t, nil
	}
	if i < 0 || i >= len(v.call.Tensors) {
		return nil, ir.Errorf(ir.ErrFormat, "expected one of %d tensors, got %d", len(v.call.Tensors), i)
	}
	t, err := v.build(&v.call.Tensors[i])
	if err != nil {
		return nil, err
	}
	v.scope.Add(t)
	if v.made == nil {
		v.made = map[int]*torch.Tensor{}
	}
	v.made[i] = t
	return t, nil
}

func (v *callValues) build(e *callTensor) (*torch.Tensor, error) {
	dt, err := ir.ParseDType(e.DType)
	if err != nil {
		return nil, err
	}
	switch {
	case e.Layout == "":
		return v.strided(e, dt)
	case e.Indices != nil:
		args, err := v.parts(e, e.Indices, e.Values)
		if err != nil {
			return nil, err
		}
		return oneTensor(torch.Call("aten::sparse_coo_tensor.indices_size", append(args, torch.Kw("is_coalesced", e.Coalesced))...))
	}
	outer, inner := e.compressed()
	args, err := v.parts(e, outer, inner, e.Values)
	if err != nil {
		return nil, err
	}
	layout, err := layoutOf(e.Layout)
	if err != nil {
		return nil, err
	}
	return oneTensor(torch.Call("aten::sparse_compressed_tensor.comp_plain_value_size", append(args, torch.Kw("layout", layout), torch.Kw("dtype", dt))...))
}

// parts returns tensors of the call and the size of the one that they make.
func (v *callValues) parts(e *callTensor, places ...*int) (args []any, err error) {
	for _, i := range places {
		if i == nil {
			return nil, ir.Errorf(ir.ErrFormat, "expected all parts of a tensor of layout %s", e.Layout)
		}
		t, err := v.tensor(*i)
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	return append(args, e.Size), nil
}

func oneTensor(v any, err error) (*torch.Tensor, error) {
	t, _ := v.(*torch.Tensor)
	return t, err
}

// strided takes a view of the flat storage that was recorded.
func (v *callValues) strided(e *callTensor, dt ir.DType) (*torch.Tensor, error) {
	base, err := v.storage(e)
	if err != nil {
		return nil, err
	}
	strides := e.Stride
	if strides == nil {
		strides = contiguous(e.Size)
	}
	t, err := view(base, dt, e, strides)
	if err != nil {
		return nil, err
	}
	for _, lazy := range []struct {
		op string
		on bool
	}{{"aten::_conj", e.Conj}, {"aten::_neg_view", e.Neg}} {
		if lazy.on {
			v.scope.Add(t)
			if t, err = oneTensor(torch.Call(lazy.op, t)); err != nil {
				return nil, err
			}
		}
	}
	if e.RequiresGrad {
		v.scope.Add(t)
		return oneTensor(torch.Call("aten::requires_grad_", t, true))
	}
	return t, nil
}

// view takes a view of a storage; PyTorch's own operator makes those with more
// dimensions than the bridge takes.
func view(base *libtorch.Tensor, dt ir.DType, e *callTensor, strides []int64) (*torch.Tensor, error) {
	const most = 64
	if len(e.Size) <= most {
		h, err := libtorch.View(base, dt, e.Size, strides, e.Offset)
		return torch.FromHandle(h), err
	}
	info, err := base.Info()
	if err != nil {
		return nil, err
	}
	h, err := libtorch.View(base, dt, []int64{info.StorageBytes / int64(dt.Size())}, []int64{1}, 0)
	if err != nil {
		return nil, err
	}
	flat := torch.FromHandle(h)
	defer flat.Close()
	return oneTensor(torch.Call("aten::as_strided", flat, e.Size, strides, e.Offset))
}

// storage returns the flat bytes that a tensor lies on, one copy for those that
// share it.
func (v *callValues) storage(e *callTensor) (*libtorch.Tensor, error) {
	if e.Share != nil {
		if base := v.shared[*e.Share]; base != nil {
			return base, nil
		}
	}
	var elements []byte
	if e.Key != nil {
		var ok bool
		if elements, ok = v.data[*e.Key]; !ok {
			return nil, ir.Errorf(ir.ErrFormat, "expected elements under key %q of the file of tensors, found none", *e.Key)
		}
	}
	base, err := libtorch.NewTensor(ir.UInt8, []int64{int64(len(elements))}, elements)
	if err != nil {
		return nil, err
	}
	v.scope.Add(torch.FromHandle(base))
	if e.Share != nil {
		if v.shared == nil {
			v.shared = map[int]*libtorch.Tensor{}
		}
		v.shared[*e.Share] = base
	}
	return base, nil
}

func contiguous(size []int64) []int64 {
	strides := make([]int64, len(size))
	step := int64(1)
	for i := len(size) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(size[i], 1)
	}
	return strides
}

// value decodes a value.
func (v *callValues) value(x any) (any, error) {
	switch x := x.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(string(x), 10, 64); err == nil {
			return n, nil
		}
		return x.Float64()
	case []any:
		return v.items(x)
	case map[string]any:
		if len(x) == 1 {
			for kind, inner := range x {
				return v.tagged(kind, inner)
			}
		}
		return nil, ir.Errorf(ir.ErrFormat, "recorded value: expected one key, got %d", len(x))
	}
	return x, nil
}

func (v *callValues) items(x []any) ([]any, error) {
	list := make([]any, len(x))
	for i, item := range x {
		var err error
		if list[i], err = v.value(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// tagged decodes {kind: x}.
func (v *callValues) tagged(kind string, x any) (any, error) {
	text, _ := x.(string)
	inner, _ := x.([]any)
	switch kind {
	case "t":
		return v.tensor(indexOf(x))
	case "f":
		return floatOf(x), nil
	case "c":
		if len(inner) == 2 {
			return complex(floatOf(inner[0]), floatOf(inner[1])), nil
		}
	case "tuple":
		list, err := v.items(inner)
		return ir.PyTuple(list), err
	case "dict":
		d := &ir.PyDict{}
		entries, _ := x.(map[string]any)
		for _, key := range slices.Sorted(keysOf(entries)) {
			value, err := v.value(entries[key])
			if err != nil {
				return nil, err
			}
			d.Set(key, value)
		}
		return d, nil
	case "ellipsis":
		return ir.Ellipsis{}, nil
	case "slice":
		parts, err := v.items(inner)
		if err != nil || len(parts) != 3 {
			return nil, ir.Errorf(ir.ErrFormat, "recorded value: expected three parts of a slice, got %d: %v", len(parts), err)
		}
		return torch.Slice(parts[0], parts[1], parts[2]), nil
	case "dtype":
		return ir.ParseDType(text)
	case "device":
		return ir.ParseDevice(text)
	case "layout":
		return layoutOf(text)
	case "memory_format":
		for f := ir.ContiguousFormat; f <= ir.ChannelsLast3D; f++ {
			if f.String() == "torch."+text {
				return f, nil
			}
		}
	}
	return nil, ir.Errorf(ir.ErrFormat, "recorded value of unknown kind %q", kind)
}

func keysOf(m map[string]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func layoutOf(name string) (ir.Layout, error) {
	for l := ir.Strided; l <= ir.Jagged; l++ {
		if l.String() == "torch."+name {
			return l, nil
		}
	}
	return 0, ir.Errorf(ir.ErrFormat, "recorded layout %q is unknown", name)
}

func floatOf(x any) float64 {
	switch x := x.(type) {
	case string:
		f, err := strconv.ParseFloat(x, 64)
		if err != nil {
			return math.NaN()
		}
		return f
	case json.Number:
		f, _ := x.Float64()
		return f
	}
	return math.NaN()
}

// indexOf reads the index of a tensor, -1 where it is none.
func indexOf(x any) int {
	n, ok := x.(json.Number)
	if !ok {
		return -1
	}
	i, err := strconv.Atoi(string(n))
	if err != nil {
		return -1
	}
	return i
}

// keep puts the tensors of a result into the scope, so that they are closed.
func (v *callValues) keep(x any) {
	switch x := x.(type) {
	case *torch.Tensor:
		v.scope.Add(x)
	case []any:
		for _, item := range x {
			v.keep(item)
		}
	case ir.PyTuple:
		for _, item := range x {
			v.keep(item)
		}
	}
}
