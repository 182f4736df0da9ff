package torchops

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// TestRecordedParser compares which arguments are taken, and the texts for those
// that are not, with what PyTorch's parser says; see testdata/record_parser.py.
func TestRecordedParser(t *testing.T) {
	testenv.Libtorch(t)
	scope := NewScope()
	defer scope.Close()
	kinds := map[string]any{
		"i": int64(1), "f": 2.5, "b": true, "c": 1i, "s": "a", "n": nil, "d": ir.Float32, "y": ir.Strided, "m": ir.ContiguousFormat, "u": CPU,
	}
	for letter, make := range map[string]func() (*Tensor, error){
		"T": func() (*Tensor, error) { return From([]float32{1, 1, 1, 1, 1, 1}, 2, 3) },
		"R": func() (*Tensor, error) {
			x, err := From([]float32{1, 1})
			if err == nil {
				err = requireGrad(x)
			}
			return x, err
		},
		"S": func() (*Tensor, error) { return Scalar(1.5, ir.Float32) },
		"I": func() (*Tensor, error) { return Scalar(1, ir.Int64) },
		"V": func() (*Tensor, error) { return From([]int64{1}) },
		"O": func() (*Tensor, error) { return Scalar(true, ir.Bool8) },
	} {
		x, err := make()
		require.NoError(t, err)
		scope.Add(x)
		kinds[letter] = x
	}
	var value func(v any) any
	value = func(v any) any {
		switch v := v.(type) {
		case string:
			return kinds[v]
		case map[string]any:
			return ir.PyTuple(value(v["tuple"]).([]any))
		}
		return listOf(v.([]any), value)
	}
	file, err := os.Open("testdata/parser.jsonl")
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	total := 0
	for lines.Scan() {
		var row struct {
			name    string
			args    []any
			kw      [][2]any
			message *string
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &[]any{&row.name, &row.args, &row.kw, &row.message}))
		lines, ok := signatureIndex()[row.name]
		require.True(t, ok, row.name)
		list, err := readSignatures(row.name, lines)
		require.NoError(t, err)
		var kw []Kwarg
		for _, k := range row.kw {
			kw = append(kw, Kw(k[0].(string), value(k[1])))
		}
		p := newPublic(row.name, strings.HasPrefix(row.name, tensorMethod), list)
		args := value(row.args).([]any)
		_, err = p.choose(&binding{values: make([]any, p.most)}, args, kw)
		total++
		switch {
		case row.message == nil:
			assert.NoError(t, err, "%s %v %v", row.name, row.args, row.kw)
		case assert.Error(t, err, "%s: expected %s", row.name, *row.message):
			assert.ErrorIs(t, err, ir.ErrType)
			assert.Equal(t, sortedParts(*row.message), sortedParts(err.Error()), row.name)
		}
	}
	require.NoError(t, lines.Err())
	require.Greater(t, total, 9000)
}

// sortedParts sorts what commas and parentheses separate: Python lists keywords in
// the order of a hash table.
func sortedParts(message string) []string {
	return slices.Sorted(strings.FieldsFuncSeq(message, func(r rune) bool { return strings.ContainsRune(",():\n", r) || r == ' ' }))
}
