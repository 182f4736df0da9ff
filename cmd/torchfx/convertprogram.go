package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	"github.com/torchfx-go/torchfx/script"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// A source is a program in another form than a .pt2 file has: a graph or a module of
// torch.fx, or TorchScript. It becomes one by being run once.
type source struct {
	graph  *ir.GraphModule // of torch.fx, nil of TorchScript
	script *script.Module
}

// openSource opens what holds a program, and puts its modules into evaluation mode
// unless they are to keep theirs.
func (c *converter) openSource(format export.FileFormat) (*source, error) {
	switch format {
	case export.TorchScriptFile:
		m, err := script.Open(c.in, ir.Device{})
		if err != nil {
			return nil, err
		}
		if !c.train {
			err = m.Train(false)
		}
		return &source{script: m}, errors.Join(err, c.warnOfState())
	case export.SavedModuleFolder:
		m, warnings, err := torchfx.LoadFolder(c.in)
		for _, w := range warnings {
			fmt.Fprintf(c.cmd.ErrOrStderr(), "warning: %s\n", plainText(w))
		}
		return c.graphSource(m, err)
	case export.TorchSaveFile:
		f, _, err := c.openModule() // which says why it is none
		if err != nil {
			return nil, err
		}
		_ = f.Close()
		m, err := torchfx.LoadModule(c.in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.in, err)
		}
		if layer, ok := m.(nn.Module); ok {
			if !c.train {
				nn.Train(layer, false)
			}
			return c.graphSource(torchfx.SymbolicTrace(layer))
		}
		gm, _ := m.(*ir.GraphModule)
		return c.graphSource(gm, nil)
	case export.AOTInductorFile:
		return nil, ir.Errorf(ir.ErrUnsupported, "%s: holds machine code and no graph; save the program itself, with torch.export.save, and convert that", c.in)
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "%s: is %s: it holds tensors and no program; they become %s, or with --weights those of a program", c.in, format, tensorEnds)
}

// warnOfState says what a run of TorchScript does not tell: attributes that it sets.
func (c *converter) warnOfState() error {
	s, err := export.OpenScript(c.in, export.WithoutWeights(), export.SkipChecksums())
	if err != nil {
		return c.about(err)
	}
	defer s.Close()
	if len(s.Assigned) > 0 {
		fmt.Fprintf(c.cmd.ErrOrStderr(), "warning: the code sets the attributes %s: what they keep from run to run, or a condition on them, the program does not have\n",
			plainText(strings.Join(s.Assigned, ", ")))
	}
	return nil
}

// openModule opens a whole module that torch.save wrote.
func (c *converter) openModule() (*export.Saved, any, error) {
	f, err := export.OpenTorchSave(c.in, export.Classes(func(string) bool { return true }))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.in, err)
	}
	if _, _, ok := f.ModuleState(); !ok {
		_ = f.Close()
		return nil, nil, ir.Errorf(ir.ErrUnsupported, "%s: is a torch.save file of tensors, not of a whole module: it holds no program; they become %s, or with --weights those of a program", c.in, tensorEnds)
	}
	m, err := f.Module()
	if err != nil {
		_ = f.Close()
		return nil, nil, c.about(err)
	}
	return f, m, nil
}

func (c *converter) graphSource(m *ir.GraphModule, err error) (*source, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.in, err)
	}
	if !c.train {
		evaluate(m)
	}
	return &source{graph: m}, nil
}

// evaluate puts the layers of a graph module into evaluation mode.
func evaluate(m *ir.GraphModule) {
	for _, v := range m.Attrs() {
		switch v := v.(type) {
		case nn.Module:
			nn.Train(v, false)
		case *ir.GraphModule:
			evaluate(v)
		}
	}
}

func (s *source) close() {
	if s.script != nil {
		_ = s.script.Close()
	}
}

// signature lists the inputs: the placeholders, or the parameters of forward.
func (s *source) signature() *signature {
	sig := &signature{}
	add := func(name string, fixed bool, value any) {
		sig.inputs = append(sig.inputs, leaf{place: fmt.Sprintf("i%d", len(sig.inputs)), name: name, fixed: fixed, value: value})
	}
	if s.graph != nil {
		for _, n := range s.graph.Graph().Find(ir.Placeholder, nil) {
			if len(n.Args()) > 0 {
				add(n.Target().String(), true, torch.FromArg(n.Arg(0)))
			} else {
				add(n.Target().String(), false, nil)
			}
		}
		return sig
	}
	for _, p := range s.script.Parameters("forward") {
		add(p.Name, p.Optional, unset{}) // the program has the value
	}
	return sig
}

// recorded makes a program of what is none of torch.export, by a run on the inputs that
// the command line gives.
func (c *converter) recorded(s *source) (*ir.GraphModule, error) {
	sig := s.signature()
	args, err := c.arguments(sig)
	if err != nil {
		return nil, err
	}
	defer closeTensors(args)
	dims, err := c.dims(sig)
	if err != nil {
		return nil, err
	}
	var m *ir.GraphModule
	if s.script != nil {
		m, err = s.script.Graph(tracer.Recording{Dynamic: dims, GuardReads: c.guardReads}, args...)
	} else {
		m, err = passes.Lower(c.cmd.Context(), s.graph, args, passes.Dynamic(dims...))
	}
	switch {
	case err != nil && s.script != nil && !c.guardReads && strings.Contains(err.Error(), "no value to be read while recording"):
		return nil, c.about(fmt.Errorf("%w; with --guard-reads the program checks that it is the same", err))
	case err != nil:
		return nil, c.about(err)
	}
	if _, err := m.Graph().EliminateDeadCode(); err != nil {
		return nil, c.about(err)
	}
	for i, n := range m.Graph().Find(ir.Placeholder, nil) {
		if v, plain := constantOf(args, i); plain { // as torch.export has it: the program takes this value alone
			n.Meta().Set(ir.MetaVal, v)
		}
	}
	return m, nil
}

// translated makes a graph of TorchScript's code, or where the command line gives inputs
// of a run on them.
func (c *converter) translated(s *source) (*ir.GraphModule, error) {
	if len(c.shapes)+len(c.inputs)+len(c.set)+len(c.dynamic) > 0 || c.guardReads {
		return c.recorded(s)
	}
	m, err := s.script.Translate("forward")
	if errors.Is(err, ir.ErrUnsupported) {
		return nil, fmt.Errorf("%w; --input NAME=DTYPE[SIZES] records one", err)
	}
	return m, err
}

// constantOf is the value of an input that is no tensor.
func constantOf(args []any, i int) (ir.Arg, bool) {
	if i >= len(args) {
		return nil, false
	}
	switch v := args[i].(type) {
	case nil:
		return ir.None{}, true
	case bool:
		return ir.Bool(v), true
	case int64:
		return ir.Int(v), true
	case float64:
		return ir.Float(v), true
	case string:
		return ir.Str(v), true
	}
	return nil, false
}

// about says which file an error is about.
func (c *converter) about(err error) error {
	if strings.HasPrefix(err.Error(), c.in+":") {
		return err
	}
	return fmt.Errorf("%s: %w", c.in, err)
}

// arguments makes the values to run on. Those that have a default may be left out, of
// TorchScript at the end.
func (c *converter) arguments(s *signature) (args []any, err error) {
	values, err := readInputs(c.cmd, s, runFlags{inputs: c.inputs, set: c.set})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeTensors(values)
		}
	}()
	for _, text := range c.shapes {
		name, shape, ok := strings.Cut(text, "=")
		i := s.find(name)
		switch {
		case !ok:
			return nil, usagef("--input %s: expected NAME=DTYPE[SIZES], as in x=f32[1,3,224,224]", text)
		case i < 0:
			return nil, ir.Errorf(ir.ErrValue, "--input %s: expected one of %s", text, s.names())
		case values[i] != any(unset{}):
			return nil, ir.Errorf(ir.ErrValue, "--input %s: is given twice", text)
		}
		if values[i], err = zeros(shape); err != nil {
			return nil, fmt.Errorf("--input %s: %w", text, err)
		}
	}
	var missing []string
	given := 0
	for i, l := range s.inputs {
		if values[i] == any(unset{}) && l.fixed {
			values[i] = l.value
		}
		if values[i] != any(unset{}) {
			given = i + 1
		}
	}
	for i, l := range s.inputs {
		if values[i] == any(unset{}) && (i < given || !l.fixed) {
			missing = append(missing, l.place+" ("+l.name+")")
		}
	}
	if missing != nil {
		return nil, ir.Errorf(ir.ErrValue, "%s: becomes a program by a run on example inputs: expected --input NAME=DTYPE[SIZES], --inputs FILE or --set for %s", c.in, strings.Join(missing, ", "))
	}
	return values[:given], nil
}

// zeros makes a tensor of what a text says: "f32[2, 3]", "int64[]".
func zeros(text string) (*torch.Tensor, error) {
	name, rest, ok := strings.Cut(strings.TrimSpace(text), "[")
	list, closed := strings.CutSuffix(rest, "]")
	if !ok || !closed {
		return nil, ir.Errorf(ir.ErrValue, "expected DTYPE[SIZES], as in f32[1,3,224,224], got %q", text)
	}
	dtype, err := dtypeOf(name)
	if err != nil {
		return nil, err
	}
	sizes := []int{}
	for _, part := range strings.Split(list, ",") {
		if part = strings.TrimSpace(part); part == "" && list == "" {
			break
		}
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 0 {
			return nil, ir.Errorf(ir.ErrValue, "expected a size, got %q", part)
		}
		sizes = append(sizes, int(n))
	}
	v, err := torch.Call("aten::zeros", sizes, torch.Kw("dtype", dtype))
	if err != nil {
		return nil, err
	}
	t, _ := v.(*torch.Tensor)
	return t, nil
}

// dtypeOf reads a dtype by its long name or by the one in signatures.
func dtypeOf(name string) (ir.DType, error) {
	if d, err := ir.ParseDType(name); err == nil {
		return d, nil
	}
	for _, d := range ir.DTypes() {
		if d.Short() == name {
			return d, nil
		}
	}
	return 0, ir.Errorf(ir.ErrValue, "expected a dtype such as f32 or int64, got %q", name)
}

// dims reads --dynamic NAME:DIM=SYMBOL.
func (c *converter) dims(s *signature) ([]tracer.Dim, error) {
	var dims []tracer.Dim
	for _, text := range c.dynamic {
		where, symbol, ok1 := strings.Cut(text, "=")
		name, dim, ok2 := strings.Cut(where, ":")
		n, err := strconv.Atoi(dim)
		if !ok1 || !ok2 || err != nil || symbol == "" {
			return nil, usagef("--dynamic %s: expected NAME:DIM=SYMBOL, as in x:0=batch", text)
		}
		i := s.find(name)
		if i < 0 {
			return nil, ir.Errorf(ir.ErrValue, "--dynamic %s: expected one of %s", text, s.names())
		}
		dims = append(dims, tracer.Dim{Input: i, Dim: n, Symbol: symbol})
	}
	return dims, nil
}

// folder writes a program as a folder that Python imports. Only what has to be traced
// or run needs libtorch.
func (c *converter) folder(format export.FileFormat) error {
	dir := filepath.Clean(c.out)
	switch format {
	case export.ProgramFile:
		return c.programFolder(dir)
	case export.SavedModuleFolder:
		f, err := export.LoadFolder(c.in)
		if err != nil {
			return fmt.Errorf("%s: %w", c.in, err)
		}
		defer f.Close()
		defer c.writingFolder(dir)()
		return export.ToFolder(f.Module, dir, cmp.Or(c.class, f.Module.ClassName()))
	case export.TorchSaveFile:
		f, m, err := c.openModule()
		if err != nil {
			return err
		}
		defer f.Close()
		if gm, ok := m.(*ir.GraphModule); ok {
			defer c.writingFolder(dir)()
			return export.ToFolder(gm, dir, cmp.Or(c.class, gm.ClassName()))
		}
	}
	s, err := c.openSource(format)
	if err != nil {
		return err
	}
	defer s.close()
	m, name := s.graph, ""
	if m == nil {
		name = "FxModule" // TorchScript's own is of the code that is gone
		if m, err = c.translated(s); err != nil {
			return err
		}
	}
	defer c.writingFolder(dir)()
	return torchfx.ToFolder(m, dir, cmp.Or(c.class, name, m.ClassName()))
}

// programFolder writes a program of torch.export, which loses what a folder has no place
// for: guards, and ranges of sizes.
func (c *converter) programFolder(dir string) error {
	p, err := c.open(c.model)
	if err != nil {
		return err
	}
	defer p.Close()
	m, err := p.Module()
	if err != nil {
		return fmt.Errorf("%s: %w", c.in, err)
	}
	for _, n := range m.Graph().Find(ir.CallModule, nil) {
		if _, ok := attrOf(m, n).(*export.Guards); ok {
			if err := m.Graph().Erase(n); err != nil {
				return err
			}
		}
	}
	if m, err = withoutUnused(m); err != nil {
		return err
	}
	defer c.writingFolder(dir)()
	return export.ToFolder(m, dir, cmp.Or(c.class, "FxModule"), export.Complete())
}

func attrOf(m *ir.GraphModule, n *ir.Node) any {
	v, _ := m.Attr(n.Target().String())
	return v
}

// withoutUnused drops what no node names.
func withoutUnused(m *ir.GraphModule) (*ir.GraphModule, error) {
	attrs := map[string]any{}
	var order []string
	used := map[string]bool{}
	for n := range m.Graph().Nodes() {
		if n.Op() == ir.GetAttr || n.Op() == ir.CallModule {
			used[n.Target().String()] = true
		}
	}
	for name, v := range m.Attrs() {
		if used[name] {
			attrs[name] = v
			order = append(order, name)
		}
	}
	return ir.NewGraphModule(attrs, m.Graph(), ir.ClassName(m.ClassName()), ir.AttrOrder(order...))
}

// wantsFolder reports whether a name is that of a folder: one that is there, or one
// that ends like it.
func wantsFolder(name string) bool {
	if strings.HasSuffix(name, "/") || strings.HasSuffix(name, string(filepath.Separator)) {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// checkFlags refuses flags that would not count.
func (c *converter) checkFlags(records bool) error {
	if records {
		return nil
	}
	var given []error
	for _, f := range []string{"input", "inputs", "set", "dynamic", "guard-reads"} {
		if c.cmd.Flags().Changed(f) {
			given = append(given, usagef("--%s: is for what is run once to become a program: TorchScript, a whole module, a saved folder", f))
		}
	}
	return errors.Join(slices.Compact(given)...)
}
