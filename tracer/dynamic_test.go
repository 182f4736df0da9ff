package tracer

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var symbolText = regexp.MustCompile(`Symbol\('(\w+)', positive=True, integer=True\)`)

// Numbers are found again from their values in the runs.
func TestSolve(t *testing.T) {
	two := []symbol{{name: "b", hint: 4, step: 1}, {name: "s", hint: 6, step: 2}}
	for _, c := range []struct {
		name string
		f    func(b, s int64) int64
		want string
	}{
		{"constant", func(_, _ int64) int64 { return 7 }, "7"},
		{"symbol", func(b, _ int64) int64 { return b }, "b"},
		{"line", func(_, s int64) int64 { return 3*s - 2 }, "((3*s)+-2)"},
		{"square", func(_, s int64) int64 { return s * s }, "(s*s)"},
		{"half", func(_, s int64) int64 { return s / 2 }, "(s//2)"},
		{"convolved", func(b, _ int64) int64 { return (b+2-3)/2 + 1 }, "((b+1)//2)"},
		{"product", func(b, s int64) int64 { return 8 * b * s }, "(8*(b*s))"},
		{"product of lines", func(b, s int64) int64 { return b * (s + 1) }, "(b*(s+1))"},
		{"sum", func(b, s int64) int64 { return b + 2*s + 5 }, "((b+(2*s))+5)"},
		{"neither", func(b, s int64) int64 { return b*s + b }, "(b*(s+1))"},
		{"not found", func(b, s int64) int64 { return b ^ s }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := sizesOfRuns(two)
			values := make([]int64, len(runs))
			for k, r := range runs {
				values[k] = c.f(r[0], r[1])
			}
			got, ok := solve(values, two, runs)
			require.Equal(t, c.want != "", ok)
			if ok {
				assert.Equal(t, c.want, symbolText.ReplaceAllString(got.text(two), "$1"))
			}
		})
	}
}

// Sizes of a coarse step are lines, by whatever they are divided.
func TestSolveCoarse(t *testing.T) {
	symbols := []symbol{{name: "b", hint: 2, step: 1}, {name: "h", hint: 64, step: 32}}
	runs := sizesOfRuns(symbols)
	for want, f := range map[string]func(b, h int64) int64{
		"(h//16)":         func(_, h int64) int64 { return (h + 15) / 16 },
		"((h+-32)//32)":   func(_, h int64) int64 { return h/32 - 1 },
		"((3*h)//16)":     func(_, h int64) int64 { return 3 * h / 16 },
		"((b*(h//8))//2)": func(b, h int64) int64 { return b * (h / 16) },
		"((-1*h)+96)":     func(_, h int64) int64 { return 96 - h },
	} {
		values := make([]int64, len(runs))
		for k, r := range runs {
			values[k] = f(r[0], r[1])
		}
		got, ok := solve(values, symbols, runs)
		require.True(t, ok, want)
		assert.Equal(t, want, symbolText.ReplaceAllString(got.text(symbols), "$1"))
	}
}

// What is found agrees with what it was found from at sizes that were not tried.
func TestSolveGeneralises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		symbols := []symbol{{name: "b", hint: rapid.Int64Range(2, 64).Draw(t, "b"), step: 1}, {name: "s", hint: rapid.Int64Range(2, 64).Draw(t, "s"), step: rapid.Int64Range(1, 8).Draw(t, "step")}}
		x, y := &size{op: 's', n: 0}, &size{op: 's', n: 1}
		n := func(name string) *size { return number64(rapid.Int64Range(1, 9).Draw(t, name)) }
		want := rapid.SampledFrom([]*size{
			n("a").times(x).plus(n("c")), n("a").times(x).times(y), n("a").times(x).plus(n("c").times(y)).plus(n("d")),
			x.times(y.plus(n("c"))), y.times(y).times(n("a")), {op: '/', parts: []*size{y.plus(n("c")), number64(rapid.Int64Range(2, 5).Draw(t, "k"))}},
		}).Draw(t, "form")
		runs := sizesOfRuns(symbols)
		values := make([]int64, len(runs))
		for k, r := range runs {
			values[k] = want.at(r)
		}
		got, ok := solve(values, symbols, runs)
		if !ok {
			t.Fatalf("%s was not found from %v", want.text(symbols), values)
		}
		for range 20 {
			sizes := []int64{rapid.Int64Range(1, 500).Draw(t, "at b"), symbols[1].hint + symbols[1].step*rapid.Int64Range(0, 100).Draw(t, "at s")}
			if got.at(sizes) != want.at(sizes) {
				t.Fatalf("%s was found for %s: they differ at %v", got.text(symbols), want.text(symbols), sizes)
			}
		}
	})
}
