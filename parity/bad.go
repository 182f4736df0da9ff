package parity

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	torchfx "github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// What a pt2-bad case must do.
const (
	mustFailLoad = "fail-load"
	mustFailRun  = "fail-run"
	mustLoad     = "load"
)

// replayBad replays a pt2-bad case. Refusals are judged by reading alone, which
// needs no libtorch; what may load is also run, on inputs made up from what the
// program says of its placeholders.
func (c *Case) replayBad(ctx context.Context, res *Result) {
	path := filepath.Join(c.Dir, c.meta.File)
	switch c.meta.Must {
	case mustFailLoad:
		p, err := export.Open(path)
		if err == nil {
			_ = p.Close()
			res.fault("expected a refusal (%s), but it loads", c.meta.Says)
			return
		}
		c.judge(res, err)
	case mustFailRun:
		if err := c.runBad(ctx, res, path); err != nil {
			c.judge(res, err)
			return
		}
		res.fault("expected a failure before or while running (%s), but it ran", c.meta.Says)
	case mustLoad:
		if err := c.runBad(ctx, res, path); err != nil {
			res.fault("expected it to load and run (%s): %v", c.meta.Says, err)
		}
	default:
		res.fault("meta.json: expected must to be fail-load, fail-run or load, got %q", c.meta.Must)
	}
}

// judge checks that a refusal tells what it has to tell.
func (c *Case) judge(res *Result, err error) {
	if missing := unsaid(err.Error(), c.meta.Says); missing != nil {
		res.fault("refused, but the message does not tell %q: it leaves out %s; it says: %v", c.meta.Says, strings.Join(missing, ", "), err)
		return
	}
	res.Note = "refused"
	res.Told = append(res.Told, err.Error())
}

// runBad loads a program and runs it where inputs can be made up for it.
func (c *Case) runBad(ctx context.Context, res *Result, path string) error {
	p, err := torchfx.Load(path)
	if err != nil {
		return err
	}
	defer closeProgram(res, p)
	if strings.Contains(c.meta.Says, "warning") && len(p.Warnings()) == 0 {
		res.fault("expected a warning (%s), got none", c.meta.Says)
	}
	for _, w := range p.Warnings() {
		res.Told = append(res.Told, "warning: "+w)
	}
	inputs, err := exampleInputs(p.Module().Graph())
	if err != nil {
		res.Note = fmt.Sprintf("loads; not run: %v", err)
		return nil
	}
	defer closeValues(inputs)
	outputs, err := runSet(ctx, p, inputs, nil)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	closeValues(outputs)
	res.Note = "loads and runs"
	return nil
}

// exampleInputs makes a tensor of ones for each placeholder, of the shape that
// the program was exported with.
func exampleInputs(g *ir.Graph) (inputs []any, err error) {
	for n := range g.Nodes() {
		if n.Op() != ir.Placeholder {
			continue
		}
		meta, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta)
		if !ok {
			closeValues(inputs)
			return nil, ir.Errorf(ir.ErrUnsupported, "placeholder %s is no tensor", n)
		}
		shape := make([]int64, len(meta.Sizes))
		for i, s := range meta.Sizes {
			shape[i] = s.Hint()
		}
		t, err := torch.Call("aten::ones", shape, torch.Kw("dtype", meta.DType))
		if err != nil {
			closeValues(inputs)
			return nil, err
		}
		inputs = append(inputs, t)
	}
	return inputs, nil
}
