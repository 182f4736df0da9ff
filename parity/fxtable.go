package parity

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/torchops"
)

// tables says how the rows of a table are repeated, by one of its parts or the
// first of its columns. A check returns what it compared.
var tables = []struct {
	part  string
	check func(t *tableCheck) string
}{
	{"dtypes", tableDTypes},
	{"sequences", tableNames},
	{"floats", tableRepr},
	{"resolved", tableQualified},
	{"illegal", tableReserved},
	{"is_impure", tableEffects},
	{"snake_case", tableSnakeCase},
	{"callables", tableTargets},
	{"class", tableClasses},
	{"function", tableForms},
}

// replayTable replays a case whose result is a table.
func replayTable(c *Case, res *Result) {
	t := &tableCheck{res: res}
	if err := readJSON(filepath.Join(c.Dir, "result.json"), &t.table); err != nil {
		res.fault("%v", err)
		return
	}
	columns, _ := t.table["columns"].([]any)
	for _, table := range tables {
		if _, ok := t.table[table.part]; ok || len(columns) > 0 && columns[0] == table.part {
			res.Note = table.check(t)
			if t.rows == 0 {
				res.fault("expected rows, found none")
			}
			return
		}
	}
	res.skip(programNote(filepath.Base(c.Dir), "a table of another kind"))
}

// A tableCheck compares the rows of a table.
type tableCheck struct {
	res   *Result
	table map[string]any
	rows  int
}

// each calls f with the texts of each row of a part of the table.
func (t *tableCheck) each(part string, f func(row []string)) {
	rows, _ := t.table[part].([]any)
	for _, r := range rows {
		t.rows++
		items, ok := r.([]any)
		if !ok {
			items = []any{r}
		}
		row := make([]string, len(items))
		for i, item := range items {
			row[i] = fmt.Sprint(item)
		}
		f(row)
	}
}

func (t *tableCheck) equal(what, want, got string) {
	if got != want {
		t.res.fault("%s: expected %s, got %s", what, want, got)
	}
}

func tableDTypes(t *tableCheck) string {
	t.each("dtypes", func(row []string) {
		d, err := ir.ParseDType(row[0])
		if err != nil {
			t.res.fault("%v", err)
			return
		}
		t.equal(row[0], row[0], d.String())
		t.equal(row[0], row[1], d.Short())
	})
	t.each("devices", func(row []string) {
		d, err := ir.ParseDevice(row[0])
		if err != nil {
			t.res.fault("%v", err)
			return
		}
		t.equal(row[0], row[1], ir.Repr(d))
		t.equal(row[0], row[2], d.String())
	})
	t.each("layouts", func(row []string) {
		l, err := ir.ParseLayout(row[0])
		if err != nil {
			t.res.fault("%v", err)
		}
		t.equal(row[0], row[1], l.String())
	})
	t.each("memory_formats", func(row []string) {
		m, err := ir.ParseMemoryFormat(row[0])
		if err != nil {
			t.res.fault("%v", err)
		}
		t.equal(row[0], row[1], m.String())
	})
	return plural(t.rows, "name")
}

func tableNames(t *tableCheck) string {
	sequences, _ := t.table["sequences"].([]any)
	for _, s := range sequences {
		g := ir.NewGraph()
		steps := tableCheck{res: t.res, table: map[string]any{"steps": s}}
		steps.each("steps", func(row []string) {
			got := g.Placeholder("x", ir.Name(row[0])).Name()
			// torch.fx lets None pass by accident; here it is reserved
			if row[0] != "None" && row[0] != "" {
				t.equal("a name for "+row[0], row[1], got)
			}
		})
		t.rows += steps.rows
	}
	return plural(t.rows, "name")
}

// hexFloat reads what Python's float.hex writes.
func hexFloat(s string) float64 {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	return math.NaN()
}

func tableRepr(t *tableCheck) string {
	repr := func(what, want string, a ir.Arg) {
		t.equal("repr of "+what, want, ir.Repr(a))
		// and what prints reads back
		g, err := ir.ParseCode("def forward(self):\n    return " + want + "\n")
		if err != nil {
			t.res.fault("reading %s: %v", want, err)
			return
		}
		if got := g.Last().Arg(0); !ir.EqualArgs(got, a) {
			t.res.fault("reading %s: expected %s, got %s", want, ir.Repr(a), ir.Repr(got))
		}
	}
	t.each("floats", func(row []string) { repr(row[0], row[1], ir.Float(hexFloat(row[0]))) })
	t.each("strings", func(row []string) { repr(row[0], row[1], ir.Str(row[0])) })
	t.each("ints", func(row []string) {
		if i, err := strconv.ParseInt(row[0], 10, 64); err == nil {
			repr(row[0], row[1], ir.Int(i))
		} else {
			repr(row[0], row[1], ir.BigInt(row[0]))
		}
	})
	t.each("complexes", func(row []string) {
		c := ir.Complex(complex(hexFloat(row[0]), hexFloat(row[1])))
		t.equal("str of "+row[0]+" "+row[1], row[2], ir.Repr(c))
		repr(row[0]+" "+row[1], row[3], c)
	})
	return plural(t.rows, "value")
}

// tableQualified checks how functions print and what nodes that call them are
// called. Which function a name in Python is, the names of Go's own functions
// must tell.
func tableQualified(t *tableCheck) string {
	functions := 0
	t.each("rows", func(row []string) {
		if row[1] == "method" {
			return
		}
		functions++
		n := ir.NewGraph().CallFunction(ir.FuncOf(row[1]), nil)
		t.equal("target "+row[1], row[1], n.Target().String())
		t.equal("node of "+row[1], legal(row[2]), n.Name())
	})
	return plural(functions, "function")
}

// legal is the first name that a graph gives to a candidate.
func legal(candidate string) string {
	return ir.NewGraph().Placeholder("x", ir.Name(candidate)).Name()
}

func tableReserved(t *tableCheck) string {
	t.each("illegal", func(row []string) { t.equal("a name for "+row[0], row[0]+"_1", legal(row[0])) })
	code := func(name string, operands int) string {
		g := ir.NewGraph()
		var args []ir.Arg
		for i := range operands {
			args = append(args, g.Placeholder(fmt.Sprintf("a%d", i)))
		}
		g.CallFunction(ir.FuncOf("_operator."+name), args, ir.Name("r"))
		c, err := g.PythonCode("self")
		if err != nil {
			return err.Error()
		}
		line, _, _ := strings.Cut(strings.TrimSpace(c.Source[strings.Index(c.Source, ":\n")+1:]), ";")
		return line
	}
	form := func(row []string) (string, int) {
		text, operands := row[1], 0
		for strings.Contains(text, "{}") {
			text = strings.Replace(text, "{}", fmt.Sprintf("a%d", operands), 1)
			operands++
		}
		return text, operands
	}
	t.each("magic", func(row []string) {
		text, operands := form(row)
		t.equal("code of "+row[0], "r = "+text, code(row[0], operands))
	})
	t.each("inplace", func(row []string) {
		text, operands := form(row)
		t.equal("code of "+row[0], text, code(row[0], operands))
	})
	c, err := ir.NewGraph().PythonCode("self")
	if err != nil {
		t.res.fault("%v", err)
		return ""
	}
	i := 0
	t.each("custom_builtins", func(row []string) {
		if i < len(c.Globals) {
			t.equal("standard global", row[0], c.Globals[i].Name)
		}
		i++
	})
	return plural(t.rows, "name")
}

func tableEffects(t *tableCheck) string {
	function := func(name string) *ir.Func {
		if ns, _, _ := strings.Cut(name, "."); ns != "torch" && ns != "_operator" {
			name = "torch.ops." + name
		}
		return ir.FuncOf(name)
	}
	impure := func(name string, opts ...ir.PurityOption) string {
		n := ir.NewGraph().CallFunction(function(name), nil)
		return fmt.Sprint(n.IsImpure(append(opts, ir.UpstreamPurity())...))
	}
	t.each("side_effect_functions", func(row []string) { t.equal(row[0]+" impure", "true", impure(row[0])) })
	t.each("random_functions", func(row []string) { t.equal(row[0]+" impure", "true", impure(row[0])) })
	t.each("is_impure", func(row []string) {
		t.equal(row[0]+" impure", row[1], impure(row[0]))
		t.equal(row[0]+" impure, random numbers aside", row[2], impure(row[0], ir.IgnoreRandom()))
	})
	return plural(t.rows, "function")
}

func tableSnakeCase(t *tableCheck) string {
	t.each("snake_case", func(row []string) {
		t.equal("node that calls module "+row[0], legal(row[1]), ir.NewGraph().CallModule(row[0], nil).Name())
	})
	return plural(t.rows, "name")
}

func tableTargets(t *tableCheck) string {
	t.each("callables", func(row []string) {
		n := ir.NewGraph().CallFunction(ir.FuncOf(row[0]), nil)
		t.equal("target "+row[0], row[1], n.Target().String())
		t.equal("node of "+row[0], legal(row[2]), n.Name())
	})
	t.each("strings", func(row []string) {
		if row[0] == "" {
			return // no candidate: the opcode's own rule counts
		}
		t.equal("node of method "+row[0], legal(row[1]), ir.NewGraph().CallMethod(row[0], nil).Name())
	})
	return plural(t.rows, "target")
}

// tableClasses checks the layers: what is a leaf, and how each is constructed.
// What Go has no layer for is said.
func tableClasses(t *tableCheck) string {
	var absent []string
	t.each("rows", func(row []string) {
		class, params, ok := nn.Constructor(row[0])
		if !ok {
			absent = append(absent, row[0])
			return
		}
		t.equal("class of "+row[0], row[1]+"."+row[0], class)
		t.equal("whether a trace stops at "+row[0], row[2], "true")
		if strings.HasPrefix(row[3], "(*args, **kwargs)") {
			return // the recurrent layers, whose parameters Python hides
		}
		for _, p := range params {
			pattern := `[(, ]` + p.Name + `(: [^=]*?)?(, [a-z_*]|\))`
			if p.Default != nil {
				value := regexp.QuoteMeta(ir.Repr(p.Default))
				if p.Name == "activation" {
					value = `<function relu at 0x0+>`
				}
				pattern = `[(, ]` + p.Name + `(: .*?)? ?= ?` + value + `[,)]`
			}
			if !regexp.MustCompile(pattern).MatchString(row[3]) {
				t.res.fault("constructor of %s: expected %s, got the parameter %s", row[0], row[3], p)
			}
		}
	})
	return fmt.Sprintf("%d classes, %d of them not layers here: %s", t.rows, len(absent), strings.Join(absent, ", "))
}

// tableForms checks what a trace records of the functions of
// torch.nn.functional.
func tableForms(t *tableCheck) string {
	rows, _ := t.table["rows"].([]any)
	checked := 0
	for _, r := range rows {
		row, _ := r.([]any)
		if len(row) != 5 {
			t.res.fault("expected rows of five columns, got %v", r)
			continue
		}
		t.rows++
		checked++
		// the function is of the module of the one that hands it to torch.fx
		within, handed := fmt.Sprint(row[0]), fmt.Sprint(row[2])
		target := within[:strings.LastIndexByte(within, '.')+1] + handed[strings.LastIndexByte(handed, '.')+1:]
		positional, keyword, ok := torchops.RecordedForm(ir.FuncOf(target))
		if !ok {
			t.res.fault("expected a function %s, got none", target)
			continue
		}
		var keys []any
		pairs, _ := row[4].([]any)
		for _, p := range pairs {
			if pair, ok := p.([]any); ok && len(pair) == 2 {
				keys = append(keys, pair[0])
			}
		}
		args, _ := row[3].([]any)
		t.equal("arguments of "+target, fmt.Sprint(args), fmt.Sprint(positional))
		t.equal("keywords of "+target, fmt.Sprint(keys), fmt.Sprint(keyword))
	}
	return plural(checked, "function")
}
