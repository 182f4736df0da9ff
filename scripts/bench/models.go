package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// networks are what models.py exports, with the factor over Python's eager mode that a
// frozen plan is to reach on libtorch's kernels alone; 0 for none.
var networks = []struct {
	name string
	aim  float64
}{
	{"resnet18", 0}, {"resnet50", 1.25}, {"mobilenet_v2", 1.5}, {"bert-base", 1.2},
}

// A network is measured by its contenders in turn.
type network struct {
	name       string
	aim        float64
	contenders []*contender
	absent     []string // contenders that do not work here, with the reason
	report     *passes.FreezeReport
	distance   float64 // of the frozen plan's results, relative to the largest
}

// models measures the networks, or those of names, and returns the table.
func models(names []string, rounds int, compile bool) (string, error) {
	dir := filepath.Join(os.TempDir(), "torchfx-bench")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	var chosen []*network
	var args []string
	for _, n := range networks {
		if len(names) == 0 || slices.Contains(names, n.name) {
			chosen = append(chosen, &network{name: n.name, aim: n.aim})
			args = append(args, n.name)
		}
	}
	py, err := startPython("models.py", append([]string{dir}, args...)...)
	if err != nil {
		return "", err
	}
	defer py.close()
	var b strings.Builder
	command := "go run ./scripts/bench -models " + strings.Join(args, ",") + fmt.Sprintf(" -rounds %d", rounds)
	if compile {
		command += " -compile"
	}
	fmt.Fprintf(&b, "Machine: %s; `%s`; %s; milliseconds of CPU time a run, one thread, batch 1, minimum / median of interleaved rounds.\n\n", machine(), command, py.version)
	fmt.Fprintf(&b, "| network | Python eager | torch.compile, freezing | Interpreter | Plan | Plan, frozen | frozen against eager | aim | largest difference |\n|---|---|---|---|---|---|---|---|---|\n")
	var notes []string
	for _, n := range chosen {
		if err := n.measure(py, filepath.Join(dir, n.name+".pt2"), rounds, compile); err != nil {
			return "", fmt.Errorf("%s: %w", n.name, err)
		}
		n.row(&b)
		for _, why := range n.absent {
			notes = append(notes, n.name+": "+why)
		}
		fmt.Fprintln(os.Stderr, strings.TrimSpace(b.String()[strings.LastIndex(strings.TrimSpace(b.String()), "\n")+1:]))
	}
	for _, note := range notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	return b.String(), nil
}

// measure sets the contenders up, runs each once to warm it, and then all in turn.
func (n *network) measure(py *python, path string, rounds int, compile bool) error {
	ctx := context.Background()
	plain, err := torchfx.Load(path)
	if err != nil {
		return err
	}
	defer plain.Close()
	inputs, err := sampleInputs(plain)
	if err != nil {
		return err
	}
	plan, err := plain.Compile()
	if err != nil {
		return err
	}
	defer plan.Close()
	p, err := torchfx.Load(path)
	if err != nil {
		return err
	}
	defer p.Close()
	if n.report, err = p.Freeze(ctx); err != nil {
		return err
	}
	frozen, err := p.Compile()
	if err != nil {
		return err
	}
	defer frozen.Close()
	if n.distance, err = distance(ctx, inputs, plan, frozen); err != nil {
		return err
	}
	if n.distance > n.report.Tolerance() {
		return fmt.Errorf("expected results within %g, got %g", n.report.Tolerance(), n.distance)
	}
	n.contenders = append(n.contenders, &contender{name: "eager", run: n.python(py, "eager")})
	if compile {
		if why := py.prepare(n.name + "/compile"); why != "" {
			n.absent = append(n.absent, "torch.compile with freezing does not work here: "+why)
		} else {
			n.contenders = append(n.contenders, &contender{name: "compile", run: n.python(py, "compile")})
		}
	}
	if why := py.prepare(n.name + "/eager"); why != "" {
		return errors.New(why)
	}
	for _, x := range []struct {
		name string
		run  func(context.Context, ...any) (any, error)
	}{{"interpreter", plain.Run}, {"plan", plan.Run}, {"frozen", frozen.Run}} {
		c := &contender{name: x.name, run: timed(x.run, inputs)}
		for range 2 {
			if _, err := c.run(1); err != nil {
				return err
			}
		}
		n.contenders = append(n.contenders, c)
	}
	for range rounds {
		for _, c := range n.contenders {
			took, err := c.run(1)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.took = append(c.took, float64(took.Nanoseconds())/1e6)
		}
	}
	return nil
}

func (n *network) python(py *python, kind string) func(int) (time.Duration, error) {
	return func(times int) (time.Duration, error) { return py.run(n.name+"/"+kind, times) }
}

func (n *network) row(b *strings.Builder) {
	minimum := map[string]float64{}
	cell := map[string]string{"compile": "not measured"}
	if n.absent != nil {
		cell["compile"] = "does not work here"
	}
	for _, c := range n.contenders {
		slices.Sort(c.took)
		minimum[c.name] = c.took[0]
		cell[c.name] = fmt.Sprintf("%.1f / %.1f", c.took[0], c.took[len(c.took)/2])
	}
	aim := "-"
	if n.aim > 0 {
		aim = fmt.Sprintf("%.2f", n.aim)
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %.2f | %s | %.1g |\n", n.name, cell["eager"], cell["compile"], cell["interpreter"], cell["plan"], cell["frozen"],
		minimum["eager"]/minimum["frozen"], aim, n.distance)
}

// sampleInputs makes inputs of a program as its placeholders are noted: ones for
// integers, random numbers for others.
func sampleInputs(p *torchfx.Program) ([]any, error) {
	var inputs []any
	for _, n := range p.Module().Graph().Find(ir.Placeholder, nil) {
		meta, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta)
		if !ok {
			return nil, fmt.Errorf("placeholder %s: expected a tensor", n)
		}
		sizes := make([]int, len(meta.Sizes))
		for i, s := range meta.Sizes {
			sizes[i] = int(s.Hint())
		}
		op := "aten::rand"
		if !meta.DType.IsFloat() {
			op = "aten::ones"
		}
		x, err := torch.Call(op, sizes, torch.Kw("dtype", meta.DType))
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, x)
	}
	return inputs, nil
}

// distance is the largest difference of two plans' results, relative to the largest
// magnitude.
func distance(ctx context.Context, inputs []any, a, b *interpreter.Plan) (float64, error) {
	var out [2]*torch.Tensor
	for i, plan := range []*interpreter.Plan{a, b} {
		v, err := plan.Run(ctx, inputs...)
		if err != nil {
			return 0, err
		}
		out[i] = v.(*torch.Tensor)
		defer out[i].Close()
	}
	return torch.Try(func() float64 {
		largest := func(t *torch.Tensor) float64 {
			v, err := torch.Max(torch.Abs(t)).Item()
			if err != nil {
				panic(err)
			}
			return v.(float64)
		}
		return largest(torch.Sub(out[0], out[1])) / largest(out[0])
	})
}

// prepare warms a contender of the Python side and returns why it does not work.
func (p *python) prepare(name string) string {
	fmt.Fprintf(p.in, "%s prepare\n", name)
	if err := p.in.Flush(); err != nil {
		return err.Error()
	}
	if !p.out.Scan() {
		return "the Python side has ended"
	}
	if text := p.out.Text(); text != "ok" {
		return strings.TrimPrefix(text, "no ")
	}
	return ""
}
