package torchops

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// What Python says of a wrong argument depends on who looks at it first: the Python
// code of a function, which asks an attribute of it, or a parser of C++.

//go:embed misuse.txt
var misuseText string

// askedFirst maps the parameters of a function that are tensors to the attribute that
// its code asks of them before anything else.
var askedFirst = sync.OnceValue(func() map[*composed]map[string]string {
	all := map[*composed]map[string]string{}
	for line := range strings.Lines(misuseText) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if len(columns) != 3 {
			continue
		}
		c := composedFunctions[ir.FuncOf(columns[0])]
		if all[c] == nil {
			all[c] = map[string]string{}
		}
		all[c][columns[1]] = columns[2]
	}
	return all
})

// misused refuses what stands in the place of a tensor: Python's code asks an attribute
// of it, or hands it to a parser.
func (f *frame) misused(i int, attribute ...string) {
	p, v := &f.of.params[i], f.values[i]
	if len(attribute) == 0 {
		if asked := askedFirst()[f.of][p.name]; asked != "" {
			attribute = []string{asked}
		}
	}
	switch {
	case i == 0 && p.name == "self":
		f.fail(ir.ErrAttribute, "'%s' object is no tensor, on which %s is called", typeName(v), f.of.name)
	case len(attribute) > 0 && typeName(v) == "torch.dtype" && (attribute[0] == "is_complex" || attribute[0] == "is_floating_point"):
		f.fail(ir.ErrType, "'bool' object is not callable") // of which dtypes have one, that is no method
	case len(attribute) > 0:
		f.fail(ir.ErrAttribute, "'%s' object has no attribute '%s'", typeName(v), attribute[0])
	}
	f.fail(ir.ErrType, "%s(): argument '%s' (position %d) must be Tensor, not %s", f.of.name, p.name, i+1, typeName(v))
}
