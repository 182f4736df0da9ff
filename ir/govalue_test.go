package ir_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/torchfx-go/torchfx/ir"
)

func TestPyDictOf(t *testing.T) {
	type word string
	tests := []struct {
		name string
		in   any
		keys []any
	}{
		{"int", map[int]any{10: "j", 9: "i", -1: "k"}, []any{int64(-1), int64(9), int64(10)}},
		{"uint8", map[uint8]string{2: "b", 1: "a"}, []any{int64(1), int64(2)}},
		{"text", map[word]int{"b": 1, "a": 2}, []any{"a", "b"}},
		{"bool", map[bool]int{true: 1, false: 0}, []any{false, true}},
		{"float", map[float32]int{2.5: 1, -1: 0}, []any{-1.0, 2.5}},
		{"mixed", map[any]int{"a": 1, 3: 2, 2.5: 3, "A": 4}, []any{2.5, int64(3), "A", "a"}},
		{"empty", map[int]int{}, nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d, ok := ir.PyDictOf(tc.in)
			assert.True(t, ok)
			var keys []any
			for key, v := range d.All() {
				keys = append(keys, key)
				assert.NotNil(t, v)
			}
			assert.Equal(t, tc.keys, keys)
		})
	}
	for _, v := range []any{nil, 3, []any{1}, map[int]struct{}{1: {}}, &ir.PyDict{}} {
		d, ok := ir.PyDictOf(v)
		assert.False(t, ok, "%T", v)
		assert.Nil(t, d)
	}
}

func TestPyValueOf(t *testing.T) {
	dict := func(pairs ...any) *ir.PyDict {
		d := &ir.PyDict{}
		for i := 0; i < len(pairs); i += 2 {
			d.Set(pairs[i], pairs[i+1])
		}
		return d
	}
	tests := []struct {
		name     string
		in, want any
	}{
		{"map", map[int][]int{1: {2, 3}}, dict(1, []any{int64(2), int64(3)})},
		{"inside", ir.PyTuple{1.5, []any{map[string]any{"a": nil}}}, ir.PyTuple{1.5, []any{dict("a", nil)}}},
		{"dict", dict("a", map[int]bool{1: true}, "b", 2), dict("a", dict(1, true), "b", 2)},
		{"bytes", []byte{1}, []byte{1}},
		{"own", ir.PyObject{}, ir.PyObject{}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { assert.Equal(t, tc.want, ir.PyValueOf(tc.in)) })
	}
	same := dict("a", 1)
	assert.Same(t, same, ir.PyValueOf(same))
	changed := dict("a", map[int]int{})
	ir.PyValueOf(changed)
	v, _ := changed.Get("a")
	assert.IsType(t, map[int]int{}, v, "what is given stays")
	held := []any{nil}
	held[0] = held
	assert.NotNil(t, ir.PyValueOf(held))
}
