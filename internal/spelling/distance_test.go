package spelling

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"view", "view", 0}, {"veiw", "view", 1}, {"veiw", "ceil", 2}, {"relu", "relu6", 1},
		{"addd", "add", 1}, {"sqr", "sqrt", 1}, {"ab", "ba", 1}, {"abcd", "badc", 2}, {"ca", "abc", 3},
	} {
		assert.Equal(t, c.want, Distance(c.a, c.b, 9), "%q to %q", c.a, c.b)
		assert.Equal(t, c.want, Distance(c.b, c.a, 9), "%q to %q", c.b, c.a)
	}
	assert.Equal(t, 2, Distance("abcdef", "uvwxyz", 1), "more than the limit")
}

// plain is the definition, without tables.
func plain(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	}
	m, n := len(a)-1, len(b)-1
	d := min(plain(a[:m], b)+1, plain(a, b[:n])+1)
	if a[m] == b[n] {
		d = min(d, plain(a[:m], b[:n]))
	} else {
		d = min(d, plain(a[:m], b[:n])+1)
	}
	if m > 0 && n > 0 && a[m] == b[n-1] && a[m-1] == b[n] {
		d = min(d, plain(a[:m-1], b[:n-1])+1)
	}
	return d
}

func TestDistanceIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 5, 5)
		a, b, limit := word.Draw(t, "a"), word.Draw(t, "b"), rapid.IntRange(0, 5).Draw(t, "limit")
		assert.Equal(t, min(plain(a, b), limit+1), Distance(a, b, limit))
	})
}
