package export

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plain turns a value into what encoding/json makes of it.
func (v jsonValue) plain() any {
	switch v.lead() {
	case '{':
		m := map[string]any{}
		v.items(func(key, item jsonValue) bool {
			k, _ := key.str()
			m[k] = item.plain()
			return true
		})
		return m
	case '[':
		s := []any{}
		v.items(func(_, item jsonValue) bool { s = append(s, item.plain()); return true })
		return s
	case '"':
		s, _ := v.str()
		return s
	case 't', 'f':
		b, _ := v.bool()
		return b
	case 'n':
		return nil
	}
	return json.Number(v.number())
}

// compareJSON holds the parser against encoding/json.
func compareJSON(t *testing.T, text string) {
	t.Helper()
	got, err := parseJSON([]byte(text), false)
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var want any
	valid := json.Valid([]byte(text)) && utf8.ValidString(text)
	switch {
	case err == nil:
		require.True(t, valid, "taken although it is no JSON: %q", text)
		require.NoError(t, d.Decode(&want))
		require.Equal(t, want, got.plain(), text)
	case valid:
		require.True(t, strings.Contains(err.Error(), "expected at most") || strings.Contains(err.Error(), "of at most"), "refused although it is JSON: %q: %v", text, err)
	}
}

func TestJSONText(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` [ 1 , 2 ] `, `{"a":{"b":[{"c":null}]}}`, `"\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`,
		`-0`, `0.5`, `1e5`, `1E-5`, `123456789012345678901234567890`, `true`, `false`, `null`, `{"a":1,"a":2}`,
		``, ` `, `{`, `[`, `"`, `"\x"`, `"\u12"`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `[1 2]`, `[,1]`, `[1,]`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1,}`, `{1:2}`,
		`nul`, `truex`, `[] []`, `[}`, `{]`, "\"\x01\"", "\"\xff\"", `NaN`, `Infinity`, `-Infinity`, `'a'`, "\ufeff1",
	} {
		compareJSON(t, text)
	}
}

func TestJSONPositions(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": tru\n}": "not valid JSON: line 2 column 8 (byte 9): expected a value, got 't'",
		`["abc`:              "not valid JSON: line 1 column 2 (byte 1): unterminated string",
		`[1`:                 "not valid JSON: line 1 column 3 (byte 2): expected a comma or ], got the end",
		`[Infinity]`:         "not valid JSON: line 1 column 10 (byte 9): Infinity is no JSON number",
	} {
		_, err := parseJSON([]byte(text), false)
		assert.EqualError(t, err, want)
	}
}

// TestPythonsNumbers: floats that JSON does not have are strings in the files of
// today and were bare words in those of torch 2.5.
func TestPythonsNumbers(t *testing.T) {
	v, err := parseJSON([]byte(`["Infinity", "-Infinity", "NaN", 3, "x", true]`), false)
	require.NoError(t, err)
	want := []any{math.Inf(1), math.Inf(-1), math.NaN(), 3.0, nil, nil}
	v.items(func(_, item jsonValue) bool {
		f, ok := item.float64()
		require.Equal(t, want[0] != nil, ok)
		if ok {
			assert.Equal(t, math.Float64bits(want[0].(float64)), math.Float64bits(f))
		}
		want = want[1:]
		return true
	})
	assert.Empty(t, want)

	v, err = parseJSON([]byte(`{"s0": {"min_val": 2, "max_val": Infinity}, "s1": {"min_val": -Infinity, "max_val": null}}`), true)
	require.NoError(t, err)
	var f faults
	got := (&decoder{faults: &f}).ranges(v)
	require.NoError(t, f.join())
	require.Len(t, got, 2)
	assert.Equal(t, int64(2), *got[0].min)
	assert.Nil(t, got[0].max)
	assert.Nil(t, got[1].min)
	assert.Nil(t, got[1].max)
}
