package export

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostileEdits is how many damaged archives are read, fewer under the race detector.
const hostileEdits = 1000

// TestHostileEdits damages the records of real archives of every release, and the JSON
// in them, whose checksums are right again afterwards: none may crash the reader, hang
// it, or cost more than a broken file may. What opens must hold together, and be
// written again or refused. Seeds are fixed.
func TestHostileEdits(t *testing.T) {
	var files []string
	for _, name := range []string{
		"2.5.1/tiny_resnet_core", "2.6.0/cond_if", "2.7.1/dynamic_derived", "2.8.0/pytree_inputs", "2.9.1/tied_weights",
		"2.15.0/batchnorm_train_core", "2.15.0/scan_op", "2.15.0/dynamic_int_math", "2.15.0/preserved_submodules", "2.15.0/unbacked",
	} {
		files = append(files, filepath.Join(fixtures(t, "pt2"), filepath.FromSlash(name), "model.pt2"))
	}
	editHostile(t, files, hostileEdits/slowdown)
}

// TestHostileEditsOfTheLargest is TestHostileEdits of the largest program there is.
func TestHostileEditsOfTheLargest(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures(t, "pt2"), "*", "*", "model.pt2"))
	require.NoError(t, err)
	size := func(file string) int64 {
		info, err := os.Stat(file)
		require.NoError(t, err)
		return info.Size()
	}
	largest := slices.MaxFunc(files, func(a, b string) int { return cmp.Compare(size(a), size(b)) })
	editHostile(t, []string{largest}, hostileEdits/slowdown)
}

// editHostile damages files, n times in all.
func editHostile(t *testing.T, files []string, n int) {
	opened, kinds := 0, map[string]int{}
	for i := range n {
		file := files[i%len(files)]
		random := rand.New(rand.NewPCG(2, uint64(i)))
		a := takeApartFile(t, file)
		if random.IntN(4) == 0 {
			a.method = 8 // deflated
		}
		var done []string
		for range 1 + random.IntN(3) {
			kind := recordEdits[random.IntN(len(recordEdits))]
			kind.edit(a, random)
			kinds[kind.name]++
			done = append(done, kind.name)
		}
		t.Run(fmt.Sprintf("%d", i), func(t *testing.T) {
			a.t = t
			data := a.bytes()
			atMost(t, func() {
				p, err := Read(bytes.NewReader(data), int64(len(data)))
				if err == nil {
					opened++
					holdsTogether(t, p)
				}
			})
			if t.Failed() {
				t.Logf("%s after %s", file, strings.Join(done, ", "))
			}
		})
	}
	assert.Greater(t, opened, n/20, "some damage is none")
	assert.Len(t, kinds, len(recordEdits))
}

// recordEdits are ways to damage an archive.
var recordEdits = []struct {
	name string
	edit func(a *testArchive, r *rand.Rand)
}{
	{"flip", func(a *testArchive, r *rand.Rand) {
		name := a.pick(r)
		data := bytes.Clone(a.records[name])
		for range 1 + r.IntN(8) {
			if len(data) > 0 {
				data[r.IntN(len(data))] ^= 1 << r.IntN(8)
			}
		}
		a.records[name] = data
	}},
	{"cut", func(a *testArchive, r *rand.Rand) {
		name := a.pick(r)
		a.records[name] = a.records[name][:r.IntN(len(a.records[name])+1)]
	}},
	{"swap", func(a *testArchive, r *rand.Rand) {
		x, y := a.pick(r), a.pick(r)
		a.records[x], a.records[y] = a.records[y], a.records[x]
	}},
	{"duplicate", func(a *testArchive, r *rand.Rand) {
		x, y := a.pick(r), a.pick(r)
		a.put(y+"_copy", a.records[x])
		a.names = append(a.names, y) // a record of the same name, too
	}},
	{"rename", func(a *testArchive, r *rand.Rand) {
		name := a.pick(r)
		data := a.records[name]
		a.remove(name)
		a.put([]string{"data/weights/weight_0", "../" + name, "/" + name, strings.ToUpper(name), "models/other.json"}[r.IntN(5)], data)
	}},
	{"remove", func(a *testArchive, r *rand.Rand) { a.remove(a.pick(r)) }},
	{"repeat", func(a *testArchive, r *rand.Rand) {
		name := a.pick(r)
		a.records[name] = bytes.Repeat(a.records[name], 1+r.IntN(20))
	}},
	{"JSON", mutateJSON}, {"JSON, another", mutateJSON}, {"JSON, a third", mutateJSON}, // the most there is to damage
}

// pick chooses a record.
func (a *testArchive) pick(r *rand.Rand) string {
	if len(a.names) == 0 {
		a.put("empty", nil)
	}
	return a.names[r.IntN(len(a.names))]
}

// mutateJSON changes tokens of a JSON record: a number for an extreme one, a key or text
// for another, a value for one of another type or a copy of what is elsewhere.
func mutateJSON(a *testArchive, r *rand.Rand) {
	var names []string
	for _, name := range a.names {
		if strings.HasSuffix(name, ".json") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	name := names[r.IntN(len(names))]
	text := a.records[name]
	for range 1 + r.IntN(4) {
		v, err := parseJSON(text, true)
		if err != nil {
			return
		}
		toks := v.doc.toks
		at := jsonValue{v.doc, uint32(r.IntN(len(toks)))}
		var with []byte
		switch r.IntN(3) {
		case 0:
			with = []byte(extremes[r.IntN(len(extremes))])
		case 1:
			with = jsonValue{v.doc, uint32(r.IntN(len(toks)))}.span()
		case 2:
			if at.lead() == '"' {
				with = []byte(`"` + strings.Repeat("a", r.IntN(3)) + `"`)
			}
		}
		start := int(toks[at.tok].pos)
		text = append(append(bytes.Clone(text[:start]), with...), text[start+len(at.span()):]...)
	}
	a.records[name] = text
}

var extremes = []string{
	"-1", "0", "9223372036854775807", "-9223372036854775808", "1e308", "18446744073709551616", `""`, "null", "true", "[]", "{}", `"self"`, `"x"`,
	`{"as_none":true}`, `{"as_int":9223372036854775807}`, `{"as_tensor":{"name":"x"}}`, `{"as_expr":{"expr_str":"Symbol('s0')","hint":null}}`,
	`"torch.ops.aten.add.Tensor"`, `"torch.ops.higher_order.cond"`, `"_operator.getitem"`, "[[[[[[[[]]]]]]]]", `{"as_ints":[-1,0,4611686018427387904]}`,
}

// span returns the text of a value.
func (v jsonValue) span() []byte {
	start := int(v.doc.toks[v.tok].pos)
	switch v.lead() {
	case '"':
		raw, _ := v.raw()
		return v.doc.text[start : start+len(raw)+2]
	case '{', '[':
		depth, in := 0, false
		for i := start; i < len(v.doc.text); i++ {
			switch c := v.doc.text[i]; {
			case in && c == '\\':
				i++
			case c == '"':
				in = !in
			case in:
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				if depth--; depth == 0 {
					return v.doc.text[start : i+1]
				}
			}
		}
	}
	end := start
	for end < len(v.doc.text) && !strings.ContainsRune(",]} \n\t", rune(v.doc.text[end])) {
		end++
	}
	return v.doc.text[start:end]
}

// What files name is forgotten with them: a process that opens files for months does not
// grow by the names of operators that there are not.
func TestNamesAreForgotten(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	heap := func() int64 {
		for range 3 { // clean-ups run beside the collection
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var after []int64
	for file := range 12 {
		a.program(func(o object) {
			nodes := list{}
			for i := range 3000 {
				nodes = append(nodes, object{"target": fmt.Sprintf("torch.ops.hostile.%s_%d_%d.default", strings.Repeat("x", 500), file, i), "inputs": list{}, "outputs": list{}, "metadata": object{}})
			}
			o.graph()["nodes"] = nodes
		})
		_, err := a.open()
		assert.ErrorContains(t, err, "unknown operator hostile::xxx")
		after = append(after, heap())
	}
	assert.Less(t, after[len(after)-1]-after[1], int64(4<<20), "of 15 MB of names: %d", after)
}
