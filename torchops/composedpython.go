package torchops

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// What Python's code does with values of any type: a body whose original does
// arithmetic with its arguments, compares or unpacks them, does it by these, so that
// tensors of numbers, and wrong arguments, go the way that they go there.

// py calls a function of Python's module operator.
func (f *frame) py(name string, args ...any) any { return f.invoke("operator."+name, args...) }

// holds is the truth of a comparison: holds(p, "lt", 0.0) is if p < 0.0.
func (f *frame) holds(a any, comparison string, b any) bool {
	return f.truth(f.py(comparison, a, b))
}

// truth is if v, of any value.
func (f *frame) truth(v any) bool {
	b, err := truthOf(f.mode, v)
	mustNot(f.of.target.Name(), err)
	return b
}

// iterable reports whether Python can iterate over v: isinstance(v, Iterable).
func iterable(v any) bool {
	switch v.(type) {
	case *Tensor, string, *ir.PyDict:
		return true
	}
	return isSequence(v)
}

// iterate returns the items of an iterable, of a tensor its slices.
func (f *frame) iterate(v any) []any {
	switch x := v.(type) {
	case *Tensor:
		if x.Dim() == 0 {
			f.fail(ir.ErrType, "iteration over a 0-d tensor")
		}
		return f.tuple("unbind", x, 0)
	case string:
		return listOf([]rune(x), func(r rune) any { return string(r) })
	}
	list, kind := items(v)
	if kind == "" {
		f.fail(ir.ErrType, "'%s' object is not iterable", typeName(v))
	}
	return list
}

// ntuple is what an iterable holds, or anything else n times: torch.nn.modules.utils.
func (f *frame) ntuple(name string, n int) []any {
	v := f.arg(name)
	if iterable(v) {
		return f.iterate(v)
	}
	list := make([]any, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// unpack refuses a list that is not as long as the names that its items get.
func (f *frame) unpack(list []any, n int) []any {
	switch {
	case len(list) < n:
		f.fail(ir.ErrValue, "not enough values to unpack (expected %d, got %d)", n, len(list))
	case len(list) > n:
		f.fail(ir.ErrValue, "too many values to unpack (expected %d)", n)
	}
	return list
}

// length is len(v).
func (f *frame) length(v any) int {
	return f.asInt("len", f.invoke("builtins.len", v))
}

// at is v[i] of a list that Python code made, which may be too short for it.
func (f *frame) at(kind string, list []any, i int) any {
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		f.fail(ir.ErrIndex, "%s index out of range", kind)
	}
	return list[i]
}

// oneOf is the place of an argument among words, -1 where it is none of them.
func (f *frame) oneOf(name string, words ...string) int {
	word, isText := f.arg(name).(string)
	if !isText {
		return -1
	}
	return slices.Index(words, word)
}

// plainNumber reports whether v is an instance of Python's int or float.
func plainNumber(v any) bool {
	k := kindOf(v)
	return k == intKind || k == boolKind || k == floatKind
}
