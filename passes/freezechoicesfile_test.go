package passes

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// versionOne is a file as it was written before it had a version.
func versionOne(t *testing.T, file choicesFile) []byte {
	t.Helper()
	data, err := json.MarshalIndent(struct {
		Machine string            `json:"machine"`
		Choices map[string]Choice `json:"choices"`
	}{file.Machine, file.Choices}, "", "\t")
	require.NoError(t, err)
	return data
}

// onThisMachine is the text of a file with one choice, with the pairs of old and new text
// replaced.
func onThisMachine(pairs ...string) string {
	text := fmt.Sprintf(`{"version": 2, "machine": %q, "choices": {"a key": {"way": "plain", "nanos": {"plain": 1.5, "packed": 2}}}}`, thisMachine())
	return strings.NewReplacer(pairs...).Replace(text)
}

// What a file says is believed as a whole or not at all, and a fault is a line.
func TestOpenChoicesRefuses(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct {
		name, text string
		class      error
		want       string
	}{
		{"a later version", onThisMachine(`n": 2`, `n": 3`), ir.ErrVersion, "expected version 2 at most, got 3, which a later release wrote"},
		{"a later version of another form", `{"choices": [], "version": 4}`, ir.ErrVersion, "got 4, which a later release wrote"},
		{"no text", "no choices", ir.ErrFormat, "expected measured choices, got "},
		{"an end too early", onThisMachine()[:60], ir.ErrFormat, "unexpected EOF"},
		{"one brace too few", strings.TrimSuffix(onThisMachine(), "}"), ir.ErrFormat, "unexpected EOF"},
		{"more behind it", onThisMachine() + onThisMachine(), ir.ErrFormat, "more behind its end"},
		{"a list", "[]", ir.ErrFormat, `"[" where an object is expected`},
		{"null", "null", ir.ErrFormat, "where an object is expected"},
		{"no choices", `{"version": 2, "machine": "m"}`, ir.ErrFormat, `nothing named "choices"`},
		{"no machine", `{"choices": {}}`, ir.ErrFormat, `nothing named "machine"`},
		{"another case", onThisMachine("choices", "Choices"), ir.ErrFormat, `nothing named "choices"`},
		{"version 0", onThisMachine(`n": 2`, `n": 0`), ir.ErrFormat, "version 0"},
		{"a version and a half", onThisMachine(`n": 2`, `n": 1.5`), ir.ErrFormat, "1.5"},
		{"a version that is text", onThisMachine(`n": 2`, `n": "2"`), ir.ErrFormat, "string"},
		{"a member twice", onThisMachine(`"version"`, `"machine": "", "version"`), ir.ErrFormat, `"machine" twice`},
		{"a key twice", onThisMachine(`{"a key"`, `{"a key": {"way": "packed", "nanos": {"packed": 1}}, "a key"`), ir.ErrFormat, `"a key" twice`},
		{"a time twice", onThisMachine(`"plain": 1.5`, `"plain": 1.5, "plain": 1`), ir.ErrFormat, `"a key": "plain" twice`},
		{"NaN", onThisMachine("1.5", "NaN"), ir.ErrFormat, "invalid character 'N'"},
		{"no number", onThisMachine("1.5", "null"), ir.ErrFormat, `"a key": a time of null nanoseconds`},
		{"a text for a time", onThisMachine("1.5", `"NaN"`), ir.ErrFormat, "string"},
		{"beyond numbers", onThisMachine("1.5", "1e999"), ir.ErrFormat, "1e999"},
		{"before the start", onThisMachine("1.5", "-1.5"), ir.ErrFormat, `"a key": a time of -1.5 nanoseconds`},
		{"a way without a time", onThisMachine(`"way": "plain"`, `"way": "mkl"`), ir.ErrFormat, `"a key": the way "mkl" without a time`},
		{"no way", onThisMachine(`"way": "plain", `, ""), ir.ErrFormat, `the way "" without a time`},
		{"a choice that is a list", onThisMachine(`{"way": "plain", "nanos": {"plain": 1.5, "packed": 2}}`, "[]"), ir.ErrFormat, "where an object is expected"},
		{"deep nesting", `{"choices": ` + strings.Repeat("[", 1<<20), ir.ErrFormat, "expected measured choices"},
		{"a key of megabytes", onThisMachine("a key", strings.Repeat("k", 1<<20), "1.5", "-1"), ir.ErrFormat, "kk"},
		{"enormous", strings.Repeat(" ", maxChoicesBytes+1), ir.ErrFormat, "expected at most 16777216 bytes, got more"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "choices.json")
			require.NoError(t, os.WriteFile(name, []byte(tc.text), 0o600))
			_, err := OpenChoices(name)
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.want)
			assert.True(t, strings.HasPrefix(err.Error(), "choices "+name+": "), err.Error())
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 400)

			// nor is it written over
			require.ErrorIs(t, NewChoices().Save(name), tc.class)
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			assert.True(t, tc.text == string(text))
		})
	}
}

func TestOpenChoicesTakes(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct {
		name, text string
		want       int
	}{
		{"version 2", onThisMachine(), 1},
		{"version 1", onThisMachine(`"version": 2, `, ""), 1},
		{"members of other names", onThisMachine(`"nanos"`, `"note": [1], "nanos"`, `"version"`, `"note": {"a": {}}, "version"`), 1},
		{"a coarse clock", onThisMachine("1.5", "0"), 1},
		{"empty", "", 0},
		{"another machine", onThisMachine(`"machine": "`, `"machine": "sparc, `), 0},
		{"another libtorch", onThisMachine("libtorch ", "libtorch 1."), 0},
		{"another number of processors", onThisMachine(" processors", "0 processors"), 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "choices.json")
			require.NoError(t, os.WriteFile(name, []byte(tc.text), 0o600))
			c, err := OpenChoices(name)
			require.NoError(t, err)
			assert.Len(t, c.All(), tc.want)
			// what it has of this machine stays beside what is added
			c = NewChoices()
			c.note("another", 1, Choice{Way: "a", Nanos: map[string]float64{"a": 1}})
			require.NoError(t, c.Save(name))
			c, err = OpenChoices(name)
			require.NoError(t, err)
			assert.Len(t, c.All(), tc.want+1)
		})
	}
	t.Run("not there", func(t *testing.T) {
		c, err := OpenChoices(filepath.Join(t.TempDir(), "none"))
		require.NoError(t, err)
		assert.Empty(t, c.All())
	})
}

// Kernels that are held to other instructions take other times.
func TestChoicesAreOfInstructions(t *testing.T) {
	testenv.Libtorch(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	require.NoError(t, os.WriteFile(name, []byte(onThisMachine()), 0o600))
	t.Setenv("ONEDNN_MAX_CPU_ISA", "SSE41")
	c, err := OpenChoices(name)
	require.NoError(t, err)
	assert.Empty(t, c.All())
}

// A folder, a file below a file, a pipe and a device are faults that are told in a line,
// and nobody waits for them.
func TestChoicesOfNoFile(t *testing.T) {
	testenv.Libtorch(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	tests := []struct{ name, path, want string }{
		{"a folder", dir, "expected a file, got a folder"},
		{"below a file", filepath.Join(file, "choices.json"), "not a directory"},
		{"a device", os.DevNull, "expected a file, got what is none"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := OpenChoices(tc.path)
			require.Error(t, err)
			assert.Contains(t, err.Error(), "choices "+tc.path+": ")
			assert.ErrorContains(t, err, tc.want)
			require.Error(t, NewChoices().Save(tc.path))
		})
	}
	err := NewChoices().Save(filepath.Join(dir, "none", "choices.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "choices "+filepath.Join(dir, "none", "choices.json")+": no such file or directory")
}

// A link stays one, wherever it leads, and permissions stay.
func TestSaveChoicesByALink(t *testing.T) {
	testenv.Libtorch(t)
	dir, other := t.TempDir(), t.TempDir()
	link, file := filepath.Join(dir, "choices.json"), filepath.Join(other, "kept.json")
	require.NoError(t, os.Symlink(file, link))
	c := NewChoices()
	for i := range 2 { // where nothing is yet, and where it is
		c.note(fmt.Sprint(i), 1, Choice{Way: "a", Nanos: map[string]float64{"a": 1}})
		require.NoError(t, c.Save(link))
		to, err := os.Readlink(link)
		require.NoError(t, err)
		assert.Equal(t, file, to)
		read, err := OpenChoices(link)
		require.NoError(t, err)
		assert.Len(t, read.All(), i+1)
		if i > 0 {
			info, err := os.Stat(file)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
		}
		require.NoError(t, os.Chmod(file, 0o640))
	}
	for _, dir := range []string{dir, other} {
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, all, 1, "nothing else stays")
	}
	circle := filepath.Join(dir, "circle")
	require.NoError(t, os.Symlink(circle, circle))
	_, err := OpenChoices(circle)
	require.Error(t, err)
	require.Error(t, NewChoices().Save(circle))
}

// Writers at once lose nothing of each other's, and readers see a whole file each time.
func TestSaveChoicesAtOnce(t *testing.T) {
	testenv.Libtorch(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	const writers, each = 8, 5
	stop := make(chan struct{})
	var readers, wg sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_, err := OpenChoices(name)
			if !assert.NoError(t, err) {
				return
			}
		}
	})
	for w := range writers {
		wg.Go(func() {
			c := NewChoices()
			for i := range each {
				c.note(fmt.Sprintf("%d of %d", i, w), 1, Choice{Way: "a", Nanos: map[string]float64{"a": 1, "b": 2}})
				if !assert.NoError(t, c.Save(name)) {
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	readers.Wait()
	c, err := OpenChoices(name)
	require.NoError(t, err)
	assert.Len(t, c.All(), writers*each)
}

// A file never grows beyond what is read again.
func TestSaveChoicesBeyondBounds(t *testing.T) {
	testenv.Libtorch(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	c := NewChoices()
	c.note(strings.Repeat("k", maxChoicesBytes), 1, Choice{Way: "a", Nanos: map[string]float64{"a": 1}})
	require.ErrorIs(t, c.Save(name), ir.ErrFormat)
	assert.NoFileExists(t, name)
}

// FuzzParseChoices holds that what is read of a file is what writing it gives again, and
// that each choice has a time for its way.
func FuzzParseChoices(f *testing.F) {
	for _, text := range []string{
		`{"version": 2, "machine": "m", "choices": {"a key": {"way": "plain", "nanos": {"plain": 1.5, "packed": 2}}}}`,
		`{"machine": "m", "choices": {}}`,
		`{"version": 3, "choices": []}`,
		`{"version": 2, "machine": "m", "choices": {"k": {"way": "p", "nanos": {"p": 0, "p": 1e-300}}}}`,
		`{"version": 1, "machine": "\ud800", "choices": {"\u0000": {"way": "", "nanos": {"": 1e308}}}} `,
		"[{", "nul", `{"a"`, `{"a":`, "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseChoices(data)
		if err != nil {
			class := ir.ClassOf(err)
			require.True(t, class == ir.ErrFormat || class == ir.ErrVersion, "%v", err)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.True(t, file.Version >= 1 && file.Version <= choicesVersion)
		for key, c := range file.Choices {
			require.Contains(t, c.Nanos, c.Way, key)
			for way, nanos := range c.Nanos {
				require.True(t, nanos >= 0 && !math.IsInf(nanos, 0), "%q: %v", way, nanos)
			}
		}
		text, err := json.Marshal(file)
		require.NoError(t, err)
		again, err := parseChoices(text)
		require.NoError(t, err)
		require.Equal(t, file, again)
	})
}
