package parity

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// compareValue compares a result with the recorded one and returns what differs, ""
// for nothing. given has the arguments of the call, want the recorded tensors.
func compareValue(given, want *callValues, got, recorded any) string {
	if m, ok := recorded.(map[string]any); ok {
		if x, ok := m["t"]; ok {
			t, isTensor := got.(*torch.Tensor)
			if !isTensor {
				return "expected a tensor, got " + torch.Describe(got)
			}
			return compareResult(given, want, t, indexOf(x))
		}
		if x, ok := m["tuple"]; ok {
			if _, isTuple := got.(ir.PyTuple); !isTuple && strings.HasPrefix(want.call.Fn, "torch") {
				return "expected a tuple, got " + torch.Describe(got)
			}
			recorded = x
		}
	}
	if list, ok := recorded.([]any); ok {
		x, ok := sequence(got)
		if !ok || len(x) != len(list) {
			return fmt.Sprintf("expected %d values, got %s", len(list), torch.Describe(got))
		}
		for i := range list {
			if wrong := compareValue(given, want, x[i], list[i]); wrong != "" {
				return fmt.Sprintf("value %d: %s", i, wrong)
			}
		}
		return ""
	}
	v, err := want.value(recorded)
	if err != nil {
		return err.Error()
	}
	return comparePlain(got, v)
}

func sequence(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case ir.PyTuple:
		return v, true
	}
	return nil, false
}

// comparePlain compares what is no tensor; floats within the tolerance of float32,
// which they may come from.
func comparePlain(got, want any) string {
	if dt, ok := got.(ir.DType); ok {
		if n, isNumber := want.(int64); isNumber && n == int64(dt.C10()) {
			return "" // as the dispatcher returns it
		}
	}
	if x, ok := got.(float64); ok {
		y, both := want.(float64)
		if both && (x == y || x != x && y != y || math.Abs(x-y) <= 1e-5+1e-4*math.Abs(y)) {
			return ""
		}
	}
	if x, ok := got.(complex128); ok {
		y, both := want.(complex128)
		if both && comparePlain(real(x), real(y)) == "" && comparePlain(imag(x), imag(y)) == "" {
			return ""
		}
	}
	if got != want {
		return fmt.Sprintf("expected %s, got %s", torch.Describe(want), torch.Describe(got))
	}
	return ""
}

// compareResult compares a tensor that was returned with recorded tensor i: an
// argument itself, or a tensor that lies on the memory of the one that was recorded.
func compareResult(given, want *callValues, got *torch.Tensor, i int) string {
	c := want.call
	if i < 0 || i >= len(c.Tensors) {
		return fmt.Sprintf("expected the index of a tensor, got %d", i)
	}
	h, err := got.Handle()
	if err != nil {
		return err.Error()
	}
	if i < c.Inputs {
		arg, err := given.tensor(i)
		if err != nil {
			return err.Error()
		}
		a, err := arg.Handle()
		if err != nil {
			return err.Error()
		}
		if a.ID() != h.ID() {
			return fmt.Sprintf("expected argument %d itself, got another tensor", i)
		}
		if j, changed := c.Changed[strconv.Itoa(i)]; changed {
			i = j
		}
		return compareTensor(given, want, got, i)
	}
	e := &c.Tensors[i]
	if !c.Random && e.Key != nil && e.Layout == "" {
		if wrong := compareAlias(given, h, e.Alias, c); wrong != "" {
			return wrong
		}
	}
	return compareTensor(given, want, got, i)
}

// compareAlias checks which argument a result shares its memory with.
func compareAlias(given *callValues, h *libtorch.Tensor, alias *int, c *recordedCall) string {
	for i, arg := range given.made {
		if i >= c.Inputs || c.Tensors[i].Layout != "" || c.Tensors[i].Key == nil {
			continue
		}
		a, err := arg.Handle()
		if err != nil {
			return err.Error()
		}
		shares := libtorch.IsAlias(a, h)
		expected := alias != nil && (*alias == i || sameStorage(c, *alias, i))
		switch {
		case shares && !expected && alias == nil:
			return fmt.Sprintf("expected memory of its own, got that of argument %d", i)
		case !shares && alias != nil && *alias == i:
			return fmt.Sprintf("expected the memory of argument %d, got another", i)
		}
	}
	return ""
}

func sameStorage(c *recordedCall, i, j int) bool {
	if i >= len(c.Tensors) || c.Tensors[i].Share == nil || c.Tensors[j].Share == nil {
		return false
	}
	return *c.Tensors[i].Share == *c.Tensors[j].Share
}

// compareTensor compares a tensor with recorded tensor i: dtype, sizes, strides,
// lazy bits and elements.
func compareTensor(given, want *callValues, got *torch.Tensor, i int) string {
	if i < 0 || i >= len(want.call.Tensors) {
		return fmt.Sprintf("expected the index of a tensor, got %d", i)
	}
	e := &want.call.Tensors[i]
	h, err := got.Handle()
	if err != nil {
		return err.Error()
	}
	info, err := h.Info()
	if err != nil {
		return err.Error()
	}
	layout := ir.Strided
	if e.Layout != "" {
		if layout, err = layoutOf(e.Layout); err != nil {
			return err.Error()
		}
	}
	switch {
	case info.DType.Name() != e.DType:
		return fmt.Sprintf("dtype: expected %s, got %s", e.DType, info.DType.Name())
	case !slices.Equal(info.Sizes, e.Size):
		return fmt.Sprintf("shape: expected %v, got %v", e.Size, info.Sizes)
	case info.Layout != layout:
		return fmt.Sprintf("layout: expected %v, got %v", layout, info.Layout)
	case layout == ir.Strided && !sameStrides(info, e.Stride):
		return fmt.Sprintf("strides: expected %s, got %v for shape %v", stridesText(e.Stride), info.Strides, info.Sizes)
	case info.Conj != e.Conj || info.Neg != e.Neg:
		return fmt.Sprintf("lazy bits: expected conj %t and neg %t, got %t and %t", e.Conj, e.Neg, info.Conj, info.Neg)
	case want.call.Random:
		return ""
	}
	fresh, err := want.tensor(i)
	if err != nil {
		return err.Error()
	}
	if layout != ir.Strided {
		return compareSparse(given, want, got, e)
	}
	return compareElements(got, fresh, DefaultTolerance(info.DType))
}

// sameStrides compares strides as recorded: absent ones are contiguous, where
// those of dimensions of size 1 and of tensors without elements do not count.
func sameStrides(info libtorch.TensorInfo, recorded []int64) bool {
	if recorded != nil {
		return slices.Equal(info.Strides, recorded)
	}
	return info.Contiguous
}

func stridesText(s []int64) string {
	if s == nil {
		return "contiguous ones"
	}
	return fmt.Sprint(s)
}

// compareSparse compares the parts of a sparse tensor.
func compareSparse(given, want *callValues, got *torch.Tensor, e *callTensor) string {
	parts := []struct {
		op    string
		place *int
	}{{"aten::_indices", e.Indices}, {"aten::_values", e.Values}}
	if e.Indices == nil {
		parts[0].op, parts[0].place = "aten::crow_indices", e.Crow
		parts[1].op = "aten::values"
		parts = append(parts, parts[1])
		parts[1].op, parts[1].place = "aten::col_indices", e.Col
		if e.CCol != nil {
			parts[0].op, parts[0].place, parts[1].op, parts[1].place = "aten::ccol_indices", e.CCol, "aten::row_indices", e.Row
		}
	}
	for _, p := range parts {
		if p.place == nil {
			return fmt.Sprintf("expected all parts of a tensor of layout %s", e.Layout)
		}
		t, err := oneTensor(torch.Call(p.op, got))
		if err != nil {
			return err.Error()
		}
		given.keep(t)
		if wrong := compareTensor(given, want, t, *p.place); wrong != "" {
			return p.op + ": " + wrong
		}
	}
	return ""
}

// compareElements compares the elements of two tensors of one dtype and shape.
func compareElements(got, want *torch.Tensor, tol Tolerance) string {
	a, err := got.Bytes()
	if err != nil {
		return err.Error()
	}
	b, err := want.Bytes()
	if err != nil {
		return err.Error()
	}
	dt := want.DType()
	d, err := Compare(dt, a, b, tol)
	if err != nil {
		return err.Error()
	}
	if d.Outside > 0 {
		return fmt.Sprintf("%d of %d elements differ, by at most %s, the first at %d: expected %v, got %v",
			d.Outside, d.Total, strconv.FormatFloat(d.MaxAbs, 'g', 3, 64), d.First, shown(dt, b, d.First), shown(dt, a, d.First))
	}
	return ""
}

// shown is one element as a message writes it.
func shown(dt ir.DType, data []byte, i int) any {
	size := max(1, dt.Size())
	f := formatOf(dt)
	var parts []any
	for at := i * size; at < (i+1)*size; at += f.width {
		parts = append(parts, f.value(data[at:at+f.width]))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	text, _ := json.Marshal(parts)
	return string(text)
}
