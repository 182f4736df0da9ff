package parity

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// TestWrittenInPython has PyTorch load and run what Save writes: every case that was
// recorded on this machine, as it is and rewritten. scripts/reference_test.sh runs it;
// TORCHFX_CASES names the folder of the cases, TORCHFX_PYTHON a Python with torch.
//
// A copy must give the recorded bits and the same graph, shapes and signature. A
// rewritten program must give what it gives here; kernels and threads are the same, so
// the tolerance only covers that Python may order additions otherwise (rtol 1e-5).
func TestWrittenInPython(t *testing.T) {
	python, folder := testenv.Python(t), os.Getenv("TORCHFX_CASES")
	if folder == "" {
		t.Skip("TORCHFX_CASES names no folder of recorded cases")
	}
	testenv.Libtorch(t)
	cases, err := filepath.Glob(filepath.Join(folder, "*", "meta.json"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	judge := newJudge(t, python)
	var kinds rewrites
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			found, err := Find([]string{dir}, nil)
			require.NoError(t, err)
			require.Len(t, found, 1)
			c := found[0]
			out := t.TempDir()
			written := filepath.Join(out, "written.pt2")
			p, err := c.load()
			require.NoError(t, err)
			err = p.Save(written)
			require.NoError(t, p.Close())
			require.NoError(t, err)
			assert.Equal(t, "ok", judge.ask("copy", written, dir))
			require.NoError(t, os.Remove(written))
			kinds.copies++
			kinds.add(writeRewritten(t, c, out, dir, judge))
		})
	}
	t.Logf("%d copies, %d rewritten programs: %d batch norms folded, %d dropouts dropped, %d activations replaced, %d graphs of others or of sizes that depend on elements changed",
		kinds.copies, kinds.programs, kinds.folded, kinds.dropped, kinds.replaced, kinds.negated)
	if kinds.copies == len(cases) {
		assert.NotZero(t, kinds.folded*kinds.dropped*kinds.replaced*kinds.negated, "each kind of rewrite")
	}
}

// rewrites counts what was judged and what was changed.
type rewrites struct{ copies, programs, folded, dropped, replaced, negated int }

func (r *rewrites) add(o rewrites) {
	r.programs, r.folded, r.dropped = r.programs+o.programs, r.folded+o.folded, r.dropped+o.dropped
	r.replaced, r.negated = r.replaced+o.replaced, r.negated+o.negated
}

// writeRewritten folds batch norms, drops dropouts, replaces activations and changes
// graphs in graphs, where the program has any, and has the result judged by what it computes here.
func writeRewritten(t *testing.T, c *Case, out, dir string, judge *judge) (r rewrites) {
	if len(c.meta.Sets) == 0 || c.meta.Sets[0].Seed != nil {
		return r // a graph only, or one that draws random numbers
	}
	p, err := c.load()
	require.NoError(t, err)
	defer p.Close()
	report, err := passes.FoldBatchNorm(context.Background(), p.Module())
	require.NoError(t, err)
	r.folded = len(report.Folds)
	r.dropped = dropDropouts(t, p.Module())
	r.replaced = replaceActivations(t, p.Module())
	r.negated = negateInside(t, p.Module(), false)
	if r.folded+r.dropped+r.replaced+r.negated == 0 {
		return r
	}
	r.programs = 1
	set := c.meta.Sets[0]
	inputs, err := c.inputs(set.Files.Inputs, set.Inputs)
	require.NoError(t, err)
	defer closeValues(inputs)
	path := filepath.Join(out, "rewritten.pt2")
	require.NoError(t, p.Save(path)) // before a run changes state
	outputs, err := p.RunFlat(context.Background(), inputs)
	require.NoError(t, err)
	defer closeValues(outputs)
	writeOutputs(t, filepath.Join(out, "rewritten.safetensors"), outputs)
	assert.Equal(t, "ok", judge.ask("rewritten", path, dir))
	return r
}

// negateInside puts two negations behind a value of floats in each graph of a
// higher-order operator, and behind those whose size depends on elements. What is
// noted of them is for Save to find out.
func negateInside(t *testing.T, m *ir.GraphModule, inner bool) (n int) {
	var at *ir.Node
	for call := range m.Graph().Nodes() {
		v, ok := call.Meta().Get(ir.MetaVal).(ir.TensorMeta)
		if ok && call.Op() == ir.CallFunction && v.DType.IsFloat() && (inner || dependsOnElements(v)) {
			at = call
		}
	}
	if at != nil {
		last := at
		for range 2 {
			restore, err := m.Graph().InsertAfter(last)
			require.NoError(t, err)
			last = m.Graph().CallFunction(ir.OverloadOf("aten::neg"), []ir.Arg{last})
			restore()
		}
		at.ReplaceAllUsesWith(last, ir.OnlyUsers(func(u *ir.Node) bool { return u.Func() != last.Func() }))
		n++
	}
	for read := range m.Graph().Nodes() {
		v, _ := m.Attr(read.Target().String())
		sub, ok := v.(*ir.GraphModule)
		if !ok || read.Op() != ir.GetAttr {
			continue
		}
		if ok {
			n += negateInside(t, sub, true)
		}
	}
	return n
}

func dependsOnElements(v ir.TensorMeta) bool {
	return slices.ContainsFunc(v.Sizes, func(s ir.Size) bool {
		return s.Expr() != nil && slices.ContainsFunc(s.Expr().Symbols(), func(s string) bool { return strings.HasPrefix(s, "u") })
	})
}

// dropDropouts takes dropouts that do nothing out of a graph.
func dropDropouts(t *testing.T, m *ir.GraphModule) (n int) {
	for _, call := range m.Graph().Find(ir.CallFunction, ir.OverloadOf("aten::dropout")) {
		x, ok := call.Arg(0).(*ir.Node)
		if train, isBool := call.Arg(2).(ir.Bool); ok && isBool && !bool(train) {
			call.ReplaceAllUsesWith(x)
			require.NoError(t, m.Graph().Erase(call))
			n++
		}
	}
	return n
}

// replaceActivations makes other functions of the activations that have just one
// argument; nothing else of the call needs to change.
func replaceActivations(t *testing.T, m *ir.GraphModule) (n int) {
	for from, to := range map[string]string{"aten::relu": "aten::silu", "aten::relu_": "aten::silu_", "aten::gelu": "aten::relu", "aten::silu": "aten::hardswish"} {
		for _, call := range m.Graph().Find(ir.CallFunction, ir.OverloadOf(from)) {
			if meta, ok := call.Meta().Get(ir.MetaVal).(ir.TensorMeta); ok && meta.DType.IsFloat() {
				require.NoError(t, call.SetTarget(ir.OverloadOf(to)))
				call.SetKwargs() // gelu's approximation
				n++
			}
		}
	}
	return n
}

// writeOutputs writes the tensors among outputs as o0, o1 and so on.
func writeOutputs(t *testing.T, path string, outputs []any) {
	tensors := map[string]*export.Tensor{}
	for i, v := range outputs {
		x, ok := v.(*torch.Tensor)
		if !ok {
			continue
		}
		data, err := x.Bytes()
		require.NoError(t, err)
		s := &export.Tensor{Storage: export.NewStorage(data), DType: x.DType()}
		n := int64(1)
		for _, size := range x.Shape() {
			s.Sizes, n = append(s.Sizes, int64(size)), n*int64(size)
		}
		if x.DType().IsComplex() { // safetensors has none: pairs of real numbers
			s.DType = map[ir.DType]ir.DType{ir.Complex64: ir.Float32, ir.Complex128: ir.Float64}[x.DType()]
			s.Sizes = append(s.Sizes, 2)
		}
		s.Strides = make([]int64, len(s.Sizes))
		step := int64(1)
		for d := len(s.Sizes) - 1; d >= 0; d-- {
			s.Strides[d] = step
			step *= max(s.Sizes[d], 1)
		}
		tensors[fmt.Sprintf("o%d", i)] = s
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, export.WriteSafetensors(f, tensors, nil))
	require.NoError(t, f.Close())
}

// A judge is a Python that loads files and says what is wrong with them.
type judge struct {
	t      *testing.T
	in     io.Writer
	out    *bufio.Scanner
	stderr *strings.Builder
}

func newJudge(t *testing.T, python string) *judge {
	script, err := filepath.Abs(filepath.Join("..", "scripts", "reference_written.py"))
	require.NoError(t, err)
	cmd := exec.Command(python, script, "--fixtures", testenv.Fixtures(t, "."))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	j := &judge{t: t, in: in, out: bufio.NewScanner(out), stderr: &strings.Builder{}}
	cmd.Stderr = j.stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		assert.NoError(t, cmd.Wait(), j.stderr)
	})
	return j
}

// ask has a file judged against a case; the answer is "ok" or what is wrong.
func (j *judge) ask(kind, file, dir string) string {
	_, err := fmt.Fprintf(j.in, "%s\t%s\t%s\n", kind, file, dir)
	require.NoError(j.t, err)
	if !j.out.Scan() {
		return "the judge gave no answer: " + j.stderr.String()
	}
	return j.out.Text()
}
