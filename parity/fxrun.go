package parity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	_ "github.com/torchfx-go/torchfx/passes" // functions that passes leave in graphs
	torch "github.com/torchfx-go/torchfx/torchops"
)

// fxIO is an io.json.
type fxIO struct {
	Inputs []any `json:"inputs"`
	Output any   `json:"output"`
}

// run repeats the recorded run, where all that the graph calls is there, and
// compares the result.
func (r *fxReplay) run(ctx context.Context) {
	if calls := r.main.programFunctions(); len(calls) > 0 {
		r.owes("run, which calls " + strings.Join(calls, ", ") + " of the Python program")
		return
	}
	x := &fxRun{replay: r, program: r.main.program}
	defer x.close()
	if err := x.open(); err != nil {
		r.res.fault("run: %v", err)
		return
	}
	module, err := x.module(r.main, "")
	if err != nil {
		r.res.fault("run: %v", err)
		return
	}
	if len(x.missing) > 0 {
		r.did = append(r.did, "no run: "+strings.Join(x.missing, "; "))
		return
	}
	if err := interpreter.Check(module); err != nil {
		r.res.fault("run: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	inputs, err := x.inputs()
	if err != nil {
		r.res.fault("run: %v", err)
		return
	}
	options := interpreter.Options{}
	if list, ok := boxed(module, inputs); ok {
		inputs, options.RawIO = list, true
	}
	out, err := interpreter.New(module).RunWith(ctx, options, inputs...)
	if err != nil {
		r.res.fault("run: %v", err)
		return
	}
	defer closeNested(out)
	x.compare("output", out, x.io.Output)
	r.did = append(r.did, "a run")
}

// boxed returns the arguments in the list that boxed code takes.
func boxed(m *ir.GraphModule, inputs []any) ([]any, bool) {
	if _, ok := m.Graph().CodeGen().(ir.BoxedCodeGen); !ok || len(inputs) != 1 {
		return nil, false
	}
	list, ok := inputs[0].([]any)
	return list, ok
}

// programFunctions returns the functions of the recorded Python program that the
// graph and those below it call.
func (g *fxGraph) programFunctions() []string {
	var calls []string
	for n := range g.module.Graph().Nodes() {
		if name := n.Target().String(); n.Op() == ir.CallFunction && strings.HasPrefix(name, "program.") && !slices.Contains(calls, name) {
			calls = append(calls, name)
		}
	}
	for _, s := range g.subs {
		calls = append(calls, s.graph.programFunctions()...)
	}
	return calls
}

// An fxRun holds what a run needs.
type fxRun struct {
	replay  *fxReplay
	program *fxProgram
	io      fxIO
	files   []*tensorFile
	in, out *tensorFile
	state   *tensorFile // nil where the module has none
	rows    map[string]fxModule
	held    []any    // tensors to close
	missing []string // why a module cannot be made
}

func (x *fxRun) open() error {
	dir := x.replay.c.Dir
	if err := readJSON(filepath.Join(dir, "io.json"), &x.io); err != nil {
		return err
	}
	rows, err := x.replay.main.modules()
	if err != nil {
		return err
	}
	x.rows = map[string]fxModule{}
	for _, row := range rows {
		x.rows[row.Path] = row
	}
	for _, f := range []struct {
		name string
		to   **tensorFile
	}{{"inputs.safetensors", &x.in}, {"expected.safetensors", &x.out}, {"state.safetensors", &x.state}} {
		t, err := openTensors(filepath.Join(dir, f.name))
		if os.IsNotExist(err) || !fileExists(filepath.Join(dir, f.name)) {
			continue
		}
		if err != nil {
			return err
		}
		*f.to = t
		x.files = append(x.files, t)
	}
	return nil
}

func (x *fxRun) close() {
	closeValues(x.held)
	for _, f := range x.files {
		f.close()
	}
}

// module returns the graph module with its tensors; prefix is the path to it.
func (x *fxRun) module(g *fxGraph, prefix string) (*ir.GraphModule, error) {
	attrs, attribute := map[string]any{}, map[string]bool{}
	for path := range g.module.Attrs() {
		attribute[path] = true
	}
	var tensors []string
	for path, v := range g.module.Attrs() {
		if _, ok := v.(*ir.GraphModule); ok {
			continue
		}
		row, ok := x.row(prefix, path)
		if !ok {
			tensors = append(tensors, path)
			continue
		}
		var err error
		if attrs[path], err = x.layer(row, func(below string) bool { return attribute[path+"."+below] }); err != nil {
			return nil, err
		}
	}
	for _, path := range tensors {
		t, ok := layerTensor(attrs, path) // a layer writes to its own
		attrs[path] = t
		if !ok {
			var err error
			attrs[path], err = x.tensor(x.state, prefix+path)
			if ir.ClassOf(err) == ir.ErrKey && x.calls(g, path) {
				x.missing = append(x.missing, prefix+path+" is recorded under another path")
				attrs[path], err = &absentModule{}, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for _, s := range g.subs {
		m, err := x.module(s.graph, prefix+s.path+".")
		if err != nil {
			return nil, err
		}
		attrs[s.path] = m
	}
	return ir.NewGraphModule(attrs, g.module.Graph().Clone(), ir.ClassName(g.module.ClassName()))
}

// layerTensor finds the tensor at a path among those of the layers above it.
func layerTensor(attrs map[string]any, path string) (any, bool) {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] != '.' {
			continue
		}
		if m, ok := attrs[path[:i]].(nn.Module); ok {
			for name, t := range nn.StateDict(m) {
				if name == path[i+1:] {
					return t, true
				}
			}
		}
	}
	return nil, false
}

// calls reports whether a graph calls the module at a path.
func (x *fxRun) calls(g *fxGraph, path string) bool {
	return len(g.module.Graph().Find(ir.CallModule, ir.Path(path))) > 0
}

// row describes the module at a path. One that stands in several places has one
// row, under the first of its paths.
func (x *fxRun) row(prefix, path string) (fxModule, bool) {
	row, ok := x.rows[prefix+path]
	if !ok && x.state != nil && slices.ContainsFunc(x.state.file.Names(), func(key string) bool {
		return strings.HasPrefix(key, prefix+path+".")
	}) {
		for _, p := range slices.Sorted(maps.Keys(x.rows)) {
			if p == path || strings.HasSuffix(p, "."+path) {
				row, ok = x.rows[p], true
			}
		}
		row.Path = prefix + path
	}
	return row, ok
}

// layer makes a layer of torch.nn with its recorded state. Tensors that were put
// into it from outside, apart tells: the graph reads them by their paths.
func (x *fxRun) layer(row fxModule, apart func(below string) bool) (any, error) {
	if strings.HasPrefix(row.Type, "torch.nn.modules.loss.") || row.Type == "torch.nn.modules.rnn.RNN" {
		x.missing = append(x.missing, fmt.Sprintf("the arguments of %s (%s) are not all in its repr", row.Path, row.Type))
		return &absentModule{}, nil
	}
	m, err := nn.FromRepr(row.Type, row.Repr)
	if err != nil {
		x.missing = append(x.missing, fmt.Sprintf("cannot make %s (%s): %v", row.Path, row.Type, err))
		return &absentModule{}, nil
	}
	nn.Train(m, row.Training)
	var failed error
	keys, err := nn.LoadStateDict(m, func(yield func(string, *torch.Tensor) bool) {
		if x.state == nil {
			return
		}
		for _, key := range x.state.file.Names() {
			name, below := strings.CutPrefix(key, row.Path+".")
			if !below {
				continue
			}
			t, err := x.tensor(x.state, key)
			if err != nil {
				failed = err
				return
			}
			if !yield(name, t) {
				return
			}
		}
	}, nn.Lenient())
	var tensors []any
	for _, t := range nn.StateDict(m) {
		tensors = append(tensors, t)
	}
	x.held = append(x.held, tensors...)
	unexpected := slices.DeleteFunc(keys.Unexpected, apart)
	if err = errors.Join(failed, err); err == nil && len(unexpected)+len(keys.Missing) > 0 {
		err = ir.Errorf(ir.ErrFormat, "state of %s: missing %v, unexpected %v", row.Path, keys.Missing, unexpected)
	}
	return m, err
}

// tensor returns a copy of a tensor of a file, to be closed with the run.
func (x *fxRun) tensor(f *tensorFile, key string) (*torch.Tensor, error) {
	if f == nil {
		return nil, ir.Errorf(ir.ErrKey, "tensor %s: expected a file that holds it", key)
	}
	t, err := f.file.Tensor(key)
	if err != nil {
		return nil, err
	}
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	shape := make([]int, len(t.Sizes))
	for i, n := range t.Sizes {
		shape[i] = int(n)
	}
	v, err := torch.FromBytes(t.DType, shape, data)
	if err == nil {
		x.held = append(x.held, v)
	}
	return v, err
}

func (x *fxRun) inputs() ([]any, error) {
	var inputs []any
	for _, v := range x.io.Inputs {
		in, err := x.value(v)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// value makes the value of a tagged one, as runs take it.
func (x *fxRun) value(v any) (any, error) {
	m, _ := v.(map[string]any)
	for tag, inside := range m {
		items, _ := inside.([]any)
		switch tag {
		case "tensor":
			return x.tensor(x.in, fmt.Sprint(inside))
		case "list", "tuple":
			values := make([]any, len(items))
			for i, item := range items {
				var err error
				if values[i], err = x.value(item); err != nil {
					return nil, err
				}
			}
			if tag == "tuple" {
				return ir.PyTuple(values), nil
			}
			return values, nil
		case "dict":
			d := &ir.PyDict{}
			for _, item := range items {
				kv, _ := item.([]any)
				if len(kv) != 2 {
					return nil, ir.Errorf(ir.ErrFormat, "recorded dict: expected a key and a value, got %v", item)
				}
				key, err := x.value(kv[0])
				if err != nil {
					return nil, err
				}
				value, err := x.value(kv[1])
				if err != nil {
					return nil, err
				}
				d.Set(key, value)
			}
			return d, nil
		}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	a, err := fxValues{program: x.program}.arg(raw)
	return torch.FromArg(a), err
}

func (x *fxRun) problem(where, format string, args ...any) {
	r := recorded{meta: &caseMeta{}, result: x.replay.res}
	r.problem(where, "", format, args...)
}

// compare holds a value against the recorded one.
func (x *fxRun) compare(where string, got, want any) {
	m, _ := want.(map[string]any)
	for tag, inside := range m {
		items, _ := inside.([]any)
		switch tag {
		case "tensor":
			x.compareTensor(where, got, fmt.Sprint(inside))
			return
		case "list", "tuple":
			values, isList := got.([]any)
			tuple, isTuple := got.(ir.PyTuple)
			if isTuple {
				values = tuple
			}
			if isTuple != (tag == "tuple") || isList != (tag == "list") || len(values) != len(items) {
				x.problem(where, "expected a %s of %d values, got %s", tag, len(items), typeName(got))
				return
			}
			for i, item := range items {
				x.compare(fmt.Sprintf("%s[%d]", where, i), values[i], item)
			}
			return
		case "dict":
			x.compareDict(where, got, items)
			return
		case "size":
			if tuple, ok := got.(ir.PyTuple); !ok || fmt.Sprint([]any(tuple)) != fmt.Sprint(items) {
				x.problem(where, "expected the size %v, got %v", items, got)
			}
			return
		}
	}
	v, err := x.value(want)
	if err != nil {
		x.problem(where, "%v", err)
		return
	}
	if a, ok := v.(ir.Arg); ok {
		if b, ok := got.(ir.Arg); !ok || !ir.EqualArgs(a, b) {
			x.problem(where, "expected %s, got %v", ir.Repr(a), got)
		}
		return
	}
	f, isFloat := v.(float64)
	g, gotFloat := got.(float64)
	if v != got && !(isFloat && gotFloat && f != f && g != g) {
		x.problem(where, "expected %v, got %v", v, got)
	}
}

func (x *fxRun) compareDict(where string, got any, items []any) {
	d, ok := got.(*ir.PyDict)
	if !ok || d.Len() != len(items) {
		x.problem(where, "expected a dict of %d entries, got %s", len(items), typeName(got))
		return
	}
	for _, item := range items {
		kv, _ := item.([]any)
		if len(kv) != 2 {
			x.problem(where, "recorded dict: expected a key and a value, got %v", item)
			return
		}
		key, err := x.value(kv[0])
		v, ok := d.Get(key)
		if err != nil || !ok {
			x.problem(where, "expected the key %v, got none", key)
			return
		}
		x.compare(fmt.Sprintf("%s[%v]", where, key), v, kv[1])
	}
}

func (x *fxRun) compareTensor(where string, got any, key string) {
	t, ok := got.(*torch.Tensor)
	if !ok {
		x.problem(where, "expected a tensor, got %s", typeName(got))
		return
	}
	r := recorded{meta: &caseMeta{}, tensors: x.out, result: x.replay.res}
	r.changed(where, key, t)
}

// closeNested closes the tensors of a result.
func closeNested(v any) {
	switch v := v.(type) {
	case *torch.Tensor:
		_ = v.Close()
	case []any:
		for _, item := range v {
			closeNested(item)
		}
	case ir.PyTuple:
		closeNested([]any(v))
	case *ir.PyDict:
		for _, item := range v.All() {
			closeNested(item)
		}
	case *ir.PyObject:
		closeNested(v.Values)
	}
}
