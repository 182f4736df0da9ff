package ir

import (
	_ "embed"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
)

// catalogueVersion is the libtorch whose operators are embedded.
const catalogueVersion = "2.15.0"

// catalogueText has a line an operator, sorted by name: its schema, and behind a
// tab its tags. go run ./scripts/gencatalogue writes it.
//
//go:embed catalogue_2.15.0.txt
var catalogueText string

// A Catalogue knows operators by name. It is safe for concurrent use and does
// not change.
type Catalogue struct {
	version string
	text    string              // of the embedded one; nothing is parsed before it is asked for
	parsed  sync.Map            // operator -> *Schema, of what was asked for
	own     map[string]*Schema  // of a catalogue made in Go
	names   map[string][]string // of such a one: name without overload -> operators, sorted
	under   *Catalogue          // asked after own; nil at the bottom
}

var embedded = Catalogue{version: catalogueVersion, text: catalogueText}

// Operators returns the operators that libtorch 2.15.0 registers by itself,
// without Python and without libraries of the user: 3,483 of them. Nothing is
// parsed but what is looked up.
func Operators() *Catalogue { return &embedded }

// NewCatalogue returns a catalogue of schemas, for instance of the operators of
// a running libtorch; of two with one name the later counts.
func NewCatalogue(version string, schemas []*Schema) *Catalogue {
	c := &Catalogue{version: version, own: make(map[string]*Schema, len(schemas)), names: map[string][]string{}}
	for _, s := range schemas {
		if c.own[s.Op] == nil {
			c.names[s.Name()] = append(c.names[s.Name()], s.Op)
		}
		c.own[s.Op] = s
	}
	for _, ops := range c.names {
		slices.Sort(ops)
	}
	return c
}

// With returns a catalogue that holds more beside those of c, and instead of
// those of c with the same name.
func (c *Catalogue) With(more ...*Schema) *Catalogue {
	over := NewCatalogue(c.version, more)
	over.under = c
	return over
}

// Version returns the version of libtorch whose operators these are.
func (c *Catalogue) Version() string { return c.version }

// Lookup returns the schema of an operator, "aten::add.Tensor" or, for the
// overload without a name, "aten::relu" or "aten::relu.default". It returns nil
// if there is none.
func (c *Catalogue) Lookup(op string) *Schema {
	op = strings.TrimSuffix(op, ".default") // which PyTorch allows nobody to register
	for ; c != nil; c = c.under {
		if s := c.own[op]; s != nil {
			return s
		}
		if s, ok := c.parsed.Load(op); ok {
			return s.(*Schema)
		}
		if at := c.search(op); lineOp(c.text[at:]) == op {
			return c.parse(c.text[at:])
		}
	}
	return nil
}

// search returns the offset of the first line of the text whose operator is not
// before op.
func (c *Catalogue) search(op string) int {
	// Offsets stand for the line that they are in; the first with a line not
	// before op is that line's start, or lies in the line before.
	at := sort.Search(len(c.text), func(i int) bool {
		return lineOp(c.text[lineStart(c.text, i):]) >= op
	})
	if at == len(c.text) {
		return at
	}
	return lineStart(c.text, at)
}

func lineStart(text string, i int) int { return strings.LastIndexByte(text[:i], '\n') + 1 }

// lineOp returns the operator of the line that rest begins with.
func lineOp(rest string) string {
	if i := strings.IndexByte(rest, '('); i >= 0 {
		return rest[:i]
	}
	return ""
}

// parse reads the line that rest begins with, once.
func (c *Catalogue) parse(rest string) *Schema {
	line, _, _ := strings.Cut(rest, "\n")
	if s, ok := c.parsed.Load(lineOp(line)); ok {
		return s.(*Schema)
	}
	text, tags, _ := strings.Cut(line, "\t")
	s, err := ParseSchema(text)
	if err != nil {
		return nil // a test parses every line
	}
	s.Tags, _ = ParseTags(strings.Fields(tags))
	kept, _ := c.parsed.LoadOrStore(s.Op, s)
	return kept.(*Schema)
}

// Overloads returns the schemas of every overload of an operator, given as
// "aten::add", sorted by name. PyTorch tries overloads in another order, that of
// their registration.
func (c *Catalogue) Overloads(name string) []*Schema {
	found := map[string]*Schema{}
	for ; c != nil; c = c.under {
		for _, op := range c.names[name] {
			if found[op] == nil {
				found[op] = c.own[op]
			}
		}
		for at := c.search(name); at < len(c.text); at += strings.IndexByte(c.text[at:], '\n') + 1 {
			op := lineOp(c.text[at:])
			if op != name && !strings.HasPrefix(op, name+".") {
				break
			}
			if found[op] == nil {
				found[op] = c.parse(c.text[at:])
			}
		}
	}
	all := make([]*Schema, 0, len(found))
	for _, op := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[op])
	}
	return all
}

// Len returns the number of operators.
func (c *Catalogue) Len() int {
	n := strings.Count(c.text, "\n") + len(c.own)
	if c.under == nil {
		return n
	}
	n += c.under.Len()
	for op := range c.own {
		if c.under.Lookup(op) != nil {
			n--
		}
	}
	return n
}

// All yields every schema, sorted by operator. It parses the whole catalogue.
func (c *Catalogue) All() iter.Seq[*Schema] {
	return func(yield func(*Schema) bool) {
		for _, op := range c.ops() {
			if !yield(c.Lookup(op)) {
				return
			}
		}
	}
}

// ops returns the name of every operator, sorted, without parsing.
func (c *Catalogue) ops() []string {
	var all []string
	for ; c != nil; c = c.under {
		for line := range strings.Lines(c.text) {
			all = append(all, lineOp(line))
		}
		for op := range c.own {
			all = append(all, op)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// maxNearestText bounds the names that Nearest compares; PyTorch's longest has
// 82 bytes.
const maxNearestText = 128

// Nearest returns the operator that op is most likely a misspelling of, for a
// message about a name that is not there; "" where none is near. It is the
// nearest name by edit distance, at most a third of op's length away, and of its
// overloads the nearest, those that write into an argument last.
func (c *Catalogue) Nearest(op string) string {
	if len(op) > maxNearestText {
		return ""
	}
	_, _, overload := splitOp(op)
	name := strings.TrimSuffix(op, "."+overload)
	overloads := c.Overloads(name)
	if len(overloads) == 0 {
		overloads = c.Overloads(c.nearestName(name))
	}
	best, distance := "", 0
	for _, s := range overloads {
		d := editDistance(overload, s.Overload(), maxNearestText)
		if s.Overload() == "" {
			d = 1 // the default one, next to an exact match
		}
		if d > 0 && s.IsOut() {
			d += maxNearestText
		}
		if best == "" || d < distance {
			best, distance = s.Op, d
		}
	}
	return best
}

// nearestName returns the name without overload that is nearest to name.
func (c *Catalogue) nearestName(name string) string {
	best, limit, last := "", len(name)/3, ""
	for _, op := range c.ops() {
		_, _, overload := splitOp(op)
		candidate := strings.TrimSuffix(op, "."+overload)
		if candidate == last {
			continue
		}
		last = candidate
		if d := editDistance(name, candidate, limit); d <= limit {
			best, limit = candidate, d-1
		}
	}
	return best
}

// editDistance returns how many insertions, deletions and replacements of bytes
// turn a into b, or limit+1 where it is more than limit.
func editDistance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
			least = min(least, cost)
		}
		if least > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
