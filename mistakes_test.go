package torchfx_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/gosource"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	"github.com/torchfx-go/torchfx/passes/placement"
	"github.com/torchfx-go/torchfx/script"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/transformer"
)

// TestWrongArguments gives executors of one program what callers give by mistake. Each
// error names the input, has its class, and leaves no tensor.
func TestWrongArguments(t *testing.T) {
	testenv.Libtorch(t)
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	plan, err := p.Compile()
	require.NoError(t, err)
	defer plan.Close()
	x, closed := torch.Ones([]int{2, 1, 8, 8}), torch.Ones([]int{2, 1, 8, 8})
	defer x.Close()
	require.NoError(t, closed.Close())
	var none *torch.Tensor
	runners := map[string]interface {
		Run(ctx context.Context, args ...any) (any, error)
	}{"Program": p, "Plan": plan, "Interpreter": interpreter.New(p.Module())}
	for name, r := range runners {
		t.Run(name, func(t *testing.T) {
			before, _ := libtorch.LiveTensors()
			_, err := r.Run(t.Context(), closed)
			require.ErrorIs(t, err, ir.ErrClosed)
			assert.EqualError(t, err, "image: expected an open tensor, got one that is closed")
			_, err = r.Run(t.Context(), none)
			require.ErrorIs(t, err, ir.ErrInput)
			assert.EqualError(t, err, "image: expected a tensor, got a nil *torchops.Tensor")
			_, err = r.Run(nil, x) //nolint:staticcheck // the mistake
			require.ErrorIs(t, err, ir.ErrInput)
			assert.EqualError(t, err, "run: expected a context, got nil")
			after, _ := libtorch.LiveTensors()
			assert.Equal(t, before, after)
		})
	}
}

// TestRefusedFreezeLeavesTheProgram freezes with what is refused before anything is rewritten.
func TestRefusedFreezeLeavesTheProgram(t *testing.T) {
	testenv.Libtorch(t)
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Freeze(nil) //nolint:staticcheck // the mistake
	require.ErrorIs(t, err, ir.ErrInput)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Freeze(over)
	require.ErrorIs(t, err, ir.ErrCancelled)
	_, err = p.Freeze(t.Context(), passes.OnlyRewrites("nope"))
	require.ErrorIs(t, err, ir.ErrKey)
	plan, err := p.Compile()
	require.NoError(t, err)
	require.NoError(t, plan.Close())
}

// TestNothingInsteadOf gives nil for modules and contexts, and closes what was not made.
func TestNothingInsteadOf(t *testing.T) {
	_, err := torchfx.Compile(nil)
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "compile: expected a graph module, got nil")
	_, err = torchfx.ReplacePattern(nil, "def f(x):\n    return x", "def f(x):\n    return x")
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "replace: expected a graph module, got nil")
	_, err = passes.Freeze(t.Context(), nil)
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "freeze: expected a graph module, got nil")

	_, err = interpreter.New(nil).Run(t.Context())
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "run: expected a graph module, got nil")

	testenv.Libtorch(t)
	gm, err := ir.NewGraphModule(nil, ir.NewGraph())
	require.NoError(t, err)
	_, err = torchfx.Compile(gm, interpreter.PlanDevice(ir.NewDevice(99, 0)))
	require.Error(t, err)
	assert.ErrorContains(t, err, "device kind 99:0")
}

// TestNilReceivers calls the methods of executors and reports that are nil.
func TestNilReceivers(t *testing.T) {
	var program *torchfx.Program
	var plan *interpreter.Plan
	var in *interpreter.Interpreter
	var compiled *interpreter.Compiled
	var module *script.Module
	var pkg *script.Package
	ctx := t.Context()
	second := func(_ any, err error) error { return err }
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"Program.Run":       {second(program.Run(ctx)), "Call: expected a program, got nil"},
		"Program.RunFlat":   {second(program.RunFlat(ctx, nil)), "RunFlat: expected a program, got nil"},
		"Program.Compile":   {second(program.Compile()), "Compile: expected a program, got nil"},
		"Program.Freeze":    {second(program.Freeze(ctx)), "Freeze: expected a program, got nil"},
		"Program.Save":      {program.Save("x.pt2"), "Save: expected a program, got nil"},
		"Program.Reset":     {program.Reset(), "Reset: expected a program, got nil"},
		"Plan.Run":          {second(plan.Run(ctx)), "run: expected a plan, got nil"},
		"Plan.RunFlat":      {second(plan.RunFlat(ctx, nil)), "run: expected a plan, got nil"},
		"Plan.Warmup":       {plan.Warmup(ctx), "run: expected a plan, got nil"},
		"Plan.Dump":         {second(plan.Dump()), "dump: expected a plan, got nil"},
		"Interpreter.Run":   {second(in.Run(ctx)), "run: expected an interpreter, got nil"},
		"Interpreter.With":  {second(in.RunWith(ctx, interpreter.Options{})), "run: expected an interpreter, got nil"},
		"Interpreter.Flat":  {second(in.RunFlat(ctx, nil)), "run: expected an interpreter, got nil"},
		"Interpreter.Boxed": {second(in.RunBoxed(ctx, new([]any))), "run: expected an interpreter, got nil"},
		"Compiled.Run":      {second(compiled.Run(ctx)), "run: expected a compiled program, got nil"},
		"Compiled.RunFlat":  {second(compiled.RunFlat(ctx, nil)), "run: expected a compiled program, got nil"},
		"script.Module":     {second(module.Run(ctx, "forward")), "run: expected a module, got nil"},
		"script.Package":    {second(pkg.Run(ctx)), "run: expected a package, got nil"},
	} {
		require.ErrorIs(t, c.err, ir.ErrInput, name)
		assert.EqualError(t, c.err, c.text, name)
	}
	_, _, err := plan.Captures(ctx)
	require.ErrorIs(t, err, ir.ErrInput)

	var exported *export.Program
	var frozen *passes.Frozen
	for _, c := range []io.Closer{program, plan, compiled, module, pkg, exported, frozen} {
		require.NoError(t, c.Close(), "%T", c)
	}
	assert.Nil(t, program.Module())
	assert.Nil(t, program.Exported())
	assert.Empty(t, program.Warnings())
	for name := range program.State() {
		t.Error(name)
	}
	var report *passes.FreezeReport
	assert.Zero(t, report.Count("delegate"))
	assert.Zero(t, report.Measured())
	assert.Zero(t, report.Tolerance())
	assert.Empty(t, report.String())
	assert.Empty(t, (*passes.BatchNormReport)(nil).String())
}

// TestNilOptionsAndModules gives options that are nil, and modules, to what takes them.
func TestNilOptionsAndModules(t *testing.T) {
	g, err := ir.ParseCode("def f(x):\n    y = torch.relu(x)\n    return y")
	require.NoError(t, err)
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	ctx := t.Context()
	second := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"compile":              second(interpreter.Compile(gm, nil)),
		"load":                 second(torchfx.Load("x.pt2", nil)),
		"run":                  second(interpreter.New(gm, nil).Run(ctx, int64(1))),
		"freeze":               second(passes.Freeze(ctx, gm, nil)),
		"open":                 second(interpreter.OpenAOTI("x.pt2", nil)),
		"save":                 torchfx.Save("x.pt2", gm, nil),
		"replace":              second(torchfx.ReplacePatternWithFilters(gm, g.Clone(), g.Clone(), nil)),
		"trace":                second(torchfx.SymbolicTrace(gm, nil)),
		"lower":                second(passes.Lower(ctx, gm, nil, nil)),
		"shapes":               second(passes.ShapeProp(ctx, gm, nil, nil)),
		"cse":                  second(passes.CSE(gm, nil)),
		"normalize":            second(passes.NormalizeArgs(gm, nil)),
		"pass manager":         second(passes.NewManager(nil, nil).Run(ctx, gm)),
		"parse":                second(ir.ParseCode("", nil)),
		"lint":                 g.Lint(nil),
		"graph module":         second(ir.NewGraphModule(nil, g, nil)),
		"python code":          second(g.PythonCode("self", nil)),
		"go source":            second(gosource.Generate(gm, nil)),
		"lift":                 second(export.Lift(gm, nil)),
		"to folder":            export.ToFolder(gm, t.TempDir(), "M", nil),
		"placement":            second(placement.Partition(gm, nil, nil)),
		"eliminate dead code":  second(g.EliminateDeadCode(nil)),
		"accelerator splitter": second(passes.NewAcceleratorSplitter(ctx, gm, nil, nil, nil)),
		"fold constants":       second(passes.ConstFold(gm, nil)),
		"split":                second(passes.Split(gm, nil, nil)),
	} {
		require.ErrorIs(t, err, ir.ErrInput, name)
		assert.EqualError(t, err, name+": expected an option, got nil")
	}
	n := g.First()
	assert.Equal(t, n.Format(), n.Format(nil))
	assert.Equal(t, n.IsImpure(), n.IsImpure(nil))
	require.NoError(t, gm.Clone(nil).Graph().Lint())

	_, deep := torchfx.DeepCopy(nil)
	for name, err := range map[string]error{
		"copy":             deep,
		"save":             torchfx.Save("x.pt2", nil),
		"check":            interpreter.Check(nil),
		"lift":             second(export.Lift(nil)),
		"go source":        second(gosource.Generate(nil)),
		"to folder":        torchfx.ToFolder(nil, t.TempDir(), "M"),
		"transform":        second(transformer.Transform(ctx, nil, nil)),
		"lower":            second(passes.Lower(ctx, nil, nil)),
		"shapes":           second(passes.ShapeProp(ctx, nil, nil)),
		"cse":              second(passes.CSE(nil)),
		"split":            second(passes.Split(nil, nil)),
		"sort":             passes.Sort(nil),
		"fuse conv bn":     second(passes.OptimizeForInference(nil)),
		"fold batch norms": second(passes.FoldBatchNorm(ctx, nil)),
		"reinplace":        second(passes.Reinplace(ctx, nil)),
		"pass manager":     second(passes.NewManager(nil).Run(ctx, nil)),
		"placement":        second(placement.Partition(nil, nil)),
	} {
		require.ErrorIs(t, err, ir.ErrInput, name)
		assert.EqualError(t, err, name+": expected a graph module, got nil")
	}
	_, err = torch.Try(func() any { return interpreter.AsModule(nil).Forward(int64(1)) })
	require.ErrorIs(t, err, ir.ErrInput)
	_, err = interpreter.New(gm, interpreter.WithHandler(nil)).Run(ctx, int64(1))
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "run: expected a handler, got nil")
}

// TestNumberOfInputs gives executors more leaves and fewer than placeholders take.
func TestNumberOfInputs(t *testing.T) {
	testenv.Libtorch(t)
	x := torch.Ones([]int{2})
	defer x.Close()
	for _, c := range []struct {
		code, fewer, more string
	}{
		{"def f(x, y):\n    z = torch.add(x, y)\n    return z", "inputs: expected 2 (x, y), got 1", "inputs: expected 2 (x, y), got 4"},
		{"def f(x, y, z = 1):\n    z_1 = torch.add(x, y)\n    return z_1", "inputs: expected 2 to 3 (x, y, z), got 1", "inputs: expected 2 to 3 (x, y, z), got 4"},
		{"def f(x, y, *rest):\n    z = torch.add(x, y)\n    return z", "inputs: expected at least 2 (x, y, *rest), got 1", ""},
	} {
		g, err := ir.ParseCode(c.code)
		require.NoError(t, err)
		gm, err := ir.NewGraphModule(nil, g)
		require.NoError(t, err)
		plan, err := torchfx.Compile(gm)
		require.NoError(t, err)
		defer plan.Close()
		for name, r := range map[string]interface {
			Run(ctx context.Context, args ...any) (any, error)
			RunFlat(ctx context.Context, leaves []any) ([]any, error)
		}{"Plan": plan, "Interpreter": interpreter.New(gm)} {
			out, err := r.RunFlat(t.Context(), []any{x, x})
			require.NoError(t, err, name)
			require.NoError(t, out[0].(*torch.Tensor).Close())
			_, err = r.RunFlat(t.Context(), []any{x})
			require.ErrorIs(t, err, ir.ErrInput, name)
			assert.EqualError(t, err, c.fewer, name)
			out, err = r.RunFlat(t.Context(), []any{x, x, int64(1), x})
			if c.more == "" {
				require.NoError(t, err, name)
				require.NoError(t, out[0].(*torch.Tensor).Close())
				continue
			}
			require.ErrorIs(t, err, ir.ErrInput, name)
			assert.EqualError(t, err, c.more, name)
			if name == "Plan" { // torch.fx's Interpreter ignores what is too many
				_, err = r.Run(t.Context(), x, x, int64(1), x)
				assert.EqualError(t, err, c.more)
			}
		}
	}
}

// TestTooManyThreads asks for more threads than a run may have, where the number is given.
func TestTooManyThreads(t *testing.T) {
	testenv.Libtorch(t)
	const many = 1 << 20
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	second := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"load":    second(torchfx.Load(filepath.FromSlash(digits), torchfx.WithThreads(many))),
		"compile": second(p.Compile(interpreter.WithThreads(many))),
		"freeze":  second(p.Freeze(t.Context(), passes.FreezeThreads(many))),
		"open":    second(interpreter.OpenAOTI("x.pt2", interpreter.WithThreads(many))),
		"x.pt2":   second(script.OpenPackage("x.pt2", script.Threads(many))),
	} {
		require.ErrorIs(t, err, ir.ErrValue, name)
		assert.EqualError(t, err, name+": mode: expected 0 to 1024 threads, got 1048576")
	}
}

// TestInputWithoutElements gives a program whose parameters are on the CPU an input on the
// device meta. Python says: Tensor on device cpu is not on the expected device meta!
func TestInputWithoutElements(t *testing.T) {
	testenv.Libtorch(t)
	x := torch.Ones([]int{2, 1, 8, 8})
	defer x.Close()
	v, err := torch.Call("aten::_to_copy", x, torch.Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
	require.NoError(t, err)
	meta := v.(*torch.Tensor)
	defer meta.Close()
	for _, opts := range [][]torchfx.LoadOption{nil, {torchfx.WithoutGuards()}} {
		p, err := torchfx.Load(filepath.FromSlash(digits), opts...)
		require.NoError(t, err)
		defer p.Close()
		plan, err := p.Compile()
		require.NoError(t, err)
		defer plan.Close()
		for name, r := range map[string]interface {
			Run(ctx context.Context, args ...any) (any, error)
			RunFlat(ctx context.Context, leaves []any) ([]any, error)
		}{"Program": p, "Plan": plan} {
			_, err := r.Run(t.Context(), meta)
			require.ErrorIs(t, err, ir.ErrInput, name)
			assert.EqualError(t, err, "image: expected a tensor with elements, as the program's state has them, got one on device meta", name)
			_, err = r.RunFlat(t.Context(), []any{meta})
			require.ErrorIs(t, err, ir.ErrInput, name)
		}
	}
}
