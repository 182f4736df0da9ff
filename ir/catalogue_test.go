package ir

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEmbeddedCatalogue(t *testing.T) {
	c := Operators()
	assert.Equal(t, 3483, c.Len())
	assert.Equal(t, "2.15.0", c.Version())
	var last string
	n := 0
	for line := range strings.Lines(catalogueText) {
		text, tags, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		s, err := ParseSchema(text)
		require.NoError(t, err)
		require.Equal(t, text, s.String())
		parsed, err := ParseTags(strings.Fields(tags))
		require.NoError(t, err)
		require.Equal(t, tags, parsed.String())
		require.Less(t, last, s.Op, "the lines are sorted by operator")
		found := c.Lookup(s.Op)
		require.NotNil(t, found, s.Op)
		require.Equal(t, text, found.String())
		require.Equal(t, parsed, found.Tags)
		last = s.Op
		n++
	}
	assert.Equal(t, 3483, n)
}

func TestLookup(t *testing.T) {
	c := Operators()
	for _, op := range []string{"", "aten::add.Nope", "aten::ad", "aten", "zzz", "aten::add.Tensor(", "\n", "_", "aten::add.Tensor\n"} {
		assert.Nil(t, c.Lookup(op), "%q", op)
	}
	assert.Same(t, c.Lookup("aten::relu"), c.Lookup("aten::relu.default"))
	add := c.Lookup("aten::add.Tensor")
	require.NotNil(t, add)
	assert.True(t, add.Tags.Has(TagPointwise|TagCore|TagPT2Compliant))
	assert.False(t, add.Tags.Has(TagInplace))
	assert.Same(t, add, c.Lookup("aten::add.Tensor"))
}

func TestOverloads(t *testing.T) {
	ops := func(c *Catalogue, name string) []string {
		var out []string
		for _, s := range c.Overloads(name) {
			out = append(out, s.Op)
		}
		return out
	}
	c := Operators()
	assert.Equal(t, []string{"aten::add.Scalar", "aten::add.Scalar_out", "aten::add.Tensor", "aten::add.out"}, ops(c, "aten::add"))
	assert.Equal(t, []string{"aten::relu", "aten::relu.out"}, ops(c, "aten::relu"))
	assert.Empty(t, ops(c, "aten::nope"))
	assert.Empty(t, ops(c, ""))

	own, err := ParseSchema("aten::add.Mine(Tensor self) -> Tensor")
	require.NoError(t, err)
	assert.Equal(t, []string{"aten::add.Mine", "aten::add.Scalar", "aten::add.Scalar_out", "aten::add.Tensor", "aten::add.out"},
		ops(c.With(own), "aten::add"))
}

func TestCatalogueOverlay(t *testing.T) {
	newer, err := ParseSchema("aten::relu(Tensor self, int n=0) -> Tensor")
	require.NoError(t, err)
	mine, err := ParseSchema("mylib::op(Tensor x) -> Tensor")
	require.NoError(t, err)
	c := Operators().With(newer, mine)
	assert.Same(t, newer, c.Lookup("aten::relu"), "the later one counts")
	assert.Same(t, mine, c.Lookup("mylib::op"))
	assert.NotNil(t, c.Lookup("aten::add.Tensor"))
	assert.Equal(t, 3484, c.Len())
	all := slices.Collect(c.All())
	assert.Len(t, all, 3484)
	assert.True(t, slices.IsSortedFunc(all, func(a, b *Schema) int { return strings.Compare(a.Op, b.Op) }))
	assert.NotSame(t, newer, Operators().Lookup("aten::relu"), "the one below does not change")

	live := NewCatalogue("2.11.0", []*Schema{mine, newer})
	assert.Equal(t, 2, live.Len())
	assert.Equal(t, "2.11.0", live.Version())
	assert.Nil(t, live.Lookup("aten::add.Tensor"))
}

func TestNearest(t *testing.T) {
	for op, want := range map[string]string{
		"aten::ad.Tensor":                 "aten::add.Tensor",
		"aten::add.Tensr":                 "aten::add.Tensor",
		"aten::addd":                      "aten::add.Scalar",
		"aten::addd.out":                  "aten::add.out",
		"aten::conv2":                     "aten::conv2d",
		"aten::relu.Tensor":               "aten::relu",
		"quantized::linaer":               "quantized::linear",
		"mylib::something_of_its_own":     "",
		strings.Repeat("aten::add", 1000): "",
		"":                                "",
	} {
		assert.Equal(t, want, Operators().Nearest(op), op)
	}
}

func BenchmarkLookupFirst(b *testing.B) {
	for b.Loop() {
		c := Catalogue{version: catalogueVersion, text: catalogueText}
		c.Lookup("aten::convolution_backward")
	}
}

func BenchmarkLookupAgain(b *testing.B) {
	for b.Loop() {
		Operators().Lookup("aten::convolution_backward")
	}
}

func BenchmarkNearest(b *testing.B) {
	for b.Loop() {
		Operators().Nearest("aten::convolutoin_backward")
	}
}

func BenchmarkParseAll(b *testing.B) {
	for b.Loop() {
		c := Catalogue{version: catalogueVersion, text: catalogueText}
		for range c.All() {
		}
	}
}
