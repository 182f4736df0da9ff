package passes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestChoices(t *testing.T) {
	testenv.Libtorch(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	c, err := OpenChoices(name)
	require.NoError(t, err)
	asked := 0
	ways := func(m *measured) error {
		asked++
		small, large := m.call("aten::ones", []int{4}), m.call("aten::ones", []int{1 << 20})
		m.way("slow", "aten::sin", large)
		m.way("fast", "aten::sin", small)
		return m.err
	}
	names := []string{"slow", "fast"}
	for _, from := range []Origin{FromMeasuring, FromBefore, FromBefore} {
		choice, err := c.choose("a key", 1, names, ways)
		require.NoError(t, err)
		assert.Equal(t, "fast", choice.Way)
		assert.Less(t, choice.Nanos["fast"], choice.Nanos["slow"])
		assert.Equal(t, from, choice.From)
	}
	require.NoError(t, c.Save(name))
	again, err := OpenChoices(name)
	require.NoError(t, err)
	require.Len(t, again.All(), 1)
	for key, found := range again.All() {
		assert.Equal(t, FromFile, found.From)
		found.From = FromMeasuring
		assert.Equal(t, c.All()[key], found)
	}
	choice, err := again.choose("a key", 1, names, ways)
	require.NoError(t, err)
	assert.Equal(t, "fast", choice.Way)
	assert.Equal(t, FromFile, choice.From)
	assert.Equal(t, 1, asked, "measured once")
	_, err = again.choose("a key", 2, names, ways)
	require.NoError(t, err)
	assert.Equal(t, 2, asked, "another number of threads")
	_, err = c.choose("another", 1, []string{"none"}, func(m *measured) error { m.way("none", "aten::nosuch"); return nil })
	require.Error(t, err)
	assert.NotContains(t, c.All(), withThreads("another", 1))
}

// What was measured between other ways, by another release say, is measured anew.
func TestChoicesBetweenOtherWays(t *testing.T) {
	tests := []struct {
		name string
		ways []string
		want bool
	}{
		{"the same", []string{"plain", "packed"}, true},
		{"in another order", []string{"packed", "plain"}, true},
		{"one more", []string{"plain", "packed", "mkl"}, false},
		{"one less", []string{"packed"}, false},
		{"another", []string{"plain", "mkl"}, false},
	}
	c := NewChoices()
	c.note("a key", 1, Choice{Way: "packed", Nanos: map[string]float64{"plain": 2, "packed": 1}})
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, known := c.known("a key", 1, tc.ways)
			assert.Equal(t, tc.want, known)
		})
	}
}

func TestChoiceAsText(t *testing.T) {
	tests := []struct {
		name   string
		choice Choice
		want   string
	}{
		{"nothing measured", Choice{Way: "packed"}, ""},
		{"now", Choice{Way: "packed", Nanos: map[string]float64{"plain": 12000, "packed": 9120}}, "packed 9.1 µs against plain 12.0 µs, measured"},
		{"before", Choice{"plain", map[string]float64{"plain": 12000, "packed": 9120}, FromBefore}, "plain 12.0 µs against packed 9.1 µs, measured before"},
		{"long", Choice{Way: "a", Nanos: map[string]float64{"a": 999_900, "b": 13_716_300}}, "a 999.9 µs against b 13.72 ms, measured"},
		{"three", Choice{"mkl", map[string]float64{"plain": 12000, "packed": 9120, "mkl": 50}, FromFile}, "mkl 0.1 µs against packed 9.1 µs, plain 12.0 µs, from the file"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { assert.Equal(t, tc.want, tc.choice.String()) })
	}
}

// kept freezes a network with a convolution, layers of one input and a layer with gelu,
// as often as a process is started, and returns the reports.
func kept(t *testing.T, name string, d Delegate, starts int, opts ...FreezeOption) (all []*Frozen) {
	t.Helper()
	const body = "c = torch.ops.aten.conv2d.default(x, self.w, None, [1, 1], [1, 1])\ns = torch.ops.aten.sin.default(c)\n" +
		"d = torch.ops.aten.conv2d.default(s, self.v, None, [1, 1], [1, 1])\ne = torch.ops.aten.sin.default(d)\nf = torch.ops.aten.flatten.using_ints(e, 1)\n" +
		"q = torch.ops.aten.linear.default(f, self.wq)\nk = torch.ops.aten.linear.default(f, self.wk)\nsq = torch.ops.aten.sin.default(q)\nsk = torch.ops.aten.cos.default(k)\n" +
		"a = torch.ops.aten.add.Tensor(sq, sk)\nl = torch.ops.aten.linear.default(a, self.wl)\ng = torch.ops.aten.gelu.default(l)\nreturn g"
	x := randn(t, 1, 8, 6, 6)
	gm := aten(t, body, map[string][]int{"w": {16, 8, 3, 3}, "v": {8, 16, 3, 3}, "wq": {32, 288}, "wk": {32, 288}, "wl": {24, 32}}, x)
	for range starts {
		frozen, err := Freeze(t.Context(), gm, append([]FreezeOption{FreezeDelegate(d), KeepChoices(name)}, opts...)...)
		require.NoError(t, err)
		t.Cleanup(func() { _ = frozen.Close() })
		all = append(all, frozen)
	}
	return all
}

// asChosen is what was chosen, however it is known and in whatever order.
func asChosen(r *FreezeReport) map[string]string {
	all := map[string]string{}
	for _, c := range r.Choices {
		all[c.What] = c.Way
	}
	return all
}

// comparedLayouts counts the regions that measured how their values are to lie.
func comparedLayouts(frozen *Frozen) (n int) {
	for _, r := range frozen.regions {
		if len(r.Layouts().Times) > 0 {
			n++
		}
	}
	return n
}

// The second process that freezes a network measures nothing at all: neither layers nor
// regions, nor how the values of a region are to lie; and writes nothing.
func TestKeepChoices(t *testing.T) {
	d := onednn(t)
	tests := []struct {
		name string
		d    Delegate
		only []string
	}{
		{"all", d, nil},
		{"regions alone", d, []string{"delegate"}},
		{"no regions", nil, nil},
		{"layers alone", nil, []string{"merge-linears", "pack-linears", "pack-convolutions"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "choices.json")
			var opts []FreezeOption
			if tc.only != nil {
				opts = append(opts, OnlyRewrites(tc.only...))
			}
			first := kept(t, name, tc.d, 1, opts...)[0]
			require.Positive(t, first.Report.Measured())
			assert.Equal(t, tc.d != nil, comparedLayouts(first) > 0)
			written, err := os.Stat(name)
			require.NoError(t, err)

			second := kept(t, name, tc.d, 1, opts...)[0]
			assert.Zero(t, second.Report.Measured(), "%s", second.Report)
			assert.Zero(t, comparedLayouts(second))
			assert.NotEmpty(t, second.Report.Choices)
			for _, c := range second.Report.Choices {
				assert.Equal(t, FromFile, c.From, c.What)
			}
			assert.Subset(t, asChosen(first.Report), asChosen(second.Report))
			assert.Equal(t, operatorsOf(first.Module), operatorsOf(second.Module))
			require.Len(t, second.regions, len(first.regions))
			for i, r := range second.regions {
				assert.Equal(t, first.regions[i].Layouts().Taken, r.Layouts().Taken, "region %d", i)
			}
			after, err := os.Stat(name)
			require.NoError(t, err)
			assert.True(t, os.SameFile(written, after), "it is the same file")
		})
	}
}

// An otherDelegate is of another release.
type otherDelegate struct{ *OneDNN }

func (otherDelegate) Version() string { return "oneDNN 0.0.1" }

// What was measured of regions holds for the delegate that computed them; layers are
// libtorch's all the same.
func TestKeepChoicesOfAnotherDelegate(t *testing.T) {
	d := onednn(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	kept(t, name, d, 1)
	other := kept(t, name, otherDelegate{d}, 1)[0]
	assert.Positive(t, comparedLayouts(other))
	regions := 0
	for _, c := range other.Report.Choices {
		if strings.Contains(c.What, " region of ") {
			regions++
			assert.NotEqual(t, FromFile, c.From, c.What)
		} else {
			assert.Equal(t, FromFile, c.From, c.What)
		}
	}
	assert.Positive(t, regions)
	for _, d := range []Delegate{d, otherDelegate{d}} { // the file has both now
		assert.Zero(t, kept(t, name, d, 1)[0].Report.Measured())
	}
}

// A file of before layouts were kept has all but these: they alone are measured and added.
func TestKeepChoicesOfVersion1(t *testing.T) {
	d := onednn(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	first := kept(t, name, d, 1)[0]
	file, err := readChoices(name)
	require.NoError(t, err)
	laid := 0
	for key := range file.Choices {
		if strings.HasPrefix(key, "layouts of ") {
			delete(file.Choices, key)
			laid++
		}
	}
	require.Positive(t, laid, "%s", first.Report)
	old := versionOne(t, file)
	require.NoError(t, os.WriteFile(name, old, 0o600))
	all := kept(t, name, d, 2)
	assert.Zero(t, all[1].Report.Measured())
	for _, c := range all[0].Report.Choices {
		if c.From == FromMeasuring {
			assert.Contains(t, c.What, "layouts of onednn region")
		}
	}
}

// Each region, packed layer and merged product says what was measured against what, both
// times, and how they are known.
func TestFreezeReportTellsTimes(t *testing.T) {
	for _, d := range []Delegate{nil, onednn(t)} {
		name := filepath.Join(t.TempDir(), "choices.json")
		for i, frozen := range kept(t, name, d, 2) {
			times := regexp.MustCompile(`: \w[\w ]* [\d.]+ [µm]s against \w[\w ]* [\d.]+ [µm]s(, \w+ [\d.]+ [µm]s)?, ` + []string{"measured", "from the file"}[i])
			looked := map[string]bool{}
			for line := range strings.Lines(frozen.Report.String()) {
				switch rewrite, _, _ := strings.Cut(line, ":"); rewrite {
				case "delegate", "merge-linears", "pack-linears", "pack-convolutions":
					if strings.Contains(line, "is laid out again") {
						continue
					}
					looked[rewrite] = true
					assert.Regexp(t, times, line)
				}
			}
			assert.Equal(t, d != nil, looked["delegate"], "%s", frozen.Report)
			assert.Equal(t, d == nil, looked["merge-linears"] && looked["pack-linears"] && looked["pack-convolutions"], "%s", frozen.Report)
			assert.Regexp(t, `(?m)^choices: \d+, measured: \d+$`, frozen.Report.String())
		}
	}
}

// Without measurements nothing depends on times, layouts neither.
func TestUnmeasuredLayouts(t *testing.T) {
	d := onednn(t)
	x := randn(t, 1, 8, 6, 6)
	gm := aten(t, "return torch.ops.aten.conv2d.default(x, self.w)", map[string][]int{"w": {8, 8, 3, 3}}, x)
	frozen, err := Freeze(t.Context(), gm, FreezeDelegate(d), WithChoices(Unmeasured()))
	require.NoError(t, err)
	defer frozen.Close()
	require.Len(t, frozen.regions, 1)
	assert.Equal(t, libtorch.RegionLayouts{Taken: delegate.AnyLayout}, frozen.regions[0].Layouts())
	assert.Empty(t, frozen.Report.Choices)
}

func ExampleKeepChoices() {
	g, err := ir.ParseCode("def forward(self, x):\n    w = self.w\n    l = torch.nn.functional.linear(x, w)\n    return l")
	if err != nil {
		fmt.Println(err)
		return
	}
	x := torch.Ones([]int{8, 64})
	gm, err := ir.NewGraphModule(map[string]any{"w": torch.Ones([]int{32, 64})}, g)
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for range 2 { // as a service that is started twice
		frozen, err := Freeze(context.Background(), gm, FreezeArgs(x), FreezeDelegate(nil), KeepChoices(filepath.Join(dir, "choices.json")))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer frozen.Close()
		for _, c := range frozen.Report.Choices {
			fmt.Printf("%s: %s\n", c.Rewrite, c.From)
		}
	}
	// Output:
	// pack-linears: measured
	// pack-linears: from the file
}

func ExampleOpenChoices() {
	choices, err := OpenChoices("a file that is not there")
	if err != nil {
		fmt.Println(err)
		return
	}
	// read, and never written: passes.Freeze(ctx, module, passes.WithChoices(choices))
	fmt.Println(len(choices.All()))
	// Output:
	// 0
}

func ExampleChoice_String() {
	fmt.Println(Choice{Way: "packed", Nanos: map[string]float64{"plain": 12000, "packed": 9100}, From: FromFile})
	// Output:
	// packed 9.1 µs against plain 12.0 µs, from the file
}
