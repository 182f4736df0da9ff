package parity

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// explain runs a set that differs once more, compares the value of each node with
// the recorded one as soon as it is there, and notes the first that differs with
// the differences found before.
func (c *Case) explain(ctx context.Context, res *Result, k int, set inputSet) {
	first, err := c.firstNode(ctx, set)
	if err != nil {
		res.fault("set %d: looking for the first node that differs: %v", k, err)
		return
	}
	for i := range res.Diffs {
		if res.Diffs[i].Set == k {
			res.Diffs[i].First = first
		}
	}
}

func (c *Case) firstNode(ctx context.Context, set inputSet) (first string, err error) {
	nodes, err := openTensors(filepath.Join(c.Dir, set.Files.Nodes))
	if err != nil {
		return "", err
	}
	defer nodes.close()
	w := &nodeWatch{meta: c.meta, nodes: nodes, recorded: map[string]bool{}}
	for _, key := range nodes.file.Names() {
		w.recorded[key] = true
	}

	p, err := c.load()
	if err != nil {
		return "", err
	}
	defer p.Close()
	inputs, err := c.inputs(set.Files.Inputs, set.Inputs)
	if err != nil {
		return "", err
	}
	defer closeValues(inputs)
	unlock, err := seeded(set.Seed)
	if err != nil {
		return "", err
	}
	defer unlock()
	in := interpreter.New(p.Module(), interpreter.WithHandler(interpreter.Around(interpreter.Default{}, w.around)))
	outputs, err := in.RunFlat(ctx, inputs)
	closeValues(outputs)
	if w.first == "" && err == nil {
		return "none: every node has its recorded value in a second run", nil
	}
	return w.first, err
}

// nodeWatch compares nodes while they run.
type nodeWatch struct {
	meta     *caseMeta
	nodes    *tensorFile
	recorded map[string]bool
	first    string
}

func (w *nodeWatch) around(_ *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
	out, err := run()
	if err != nil || w.first != "" {
		return out, err
	}
	switch v := out.(type) {
	case *torch.Tensor:
		w.compare(n, n.Name(), v)
	case []any:
		w.items(n, v)
	case ir.PyTuple:
		w.items(n, v)
	}
	return out, nil
}

func (w *nodeWatch) items(n *ir.Node, values []any) {
	for i, v := range values {
		if t, ok := v.(*torch.Tensor); ok {
			w.compare(n, fmt.Sprintf("%s.%d", n.Name(), i), t)
		}
	}
}

func (w *nodeWatch) compare(n *ir.Node, key string, got *torch.Tensor) {
	if !w.recorded[key] || w.first != "" {
		return
	}
	why := func() string {
		want, err := w.nodes.bytes(key)
		if err != nil {
			return err.Error()
		}
		f, err := factsOf(got)
		if err != nil {
			return err.Error()
		}
		data, err := got.Bytes()
		if err != nil {
			return err.Error()
		}
		d, err := Compare(f.dtype, data, want, w.meta.tolerance(f.dtype))
		switch {
		case err != nil:
			return err.Error()
		case d.Outside > 0:
			return fmt.Sprintf("%d of %d elements, max abs %s", d.Outside, d.Total, number(d.MaxAbs))
		}
		return ""
	}()
	if why != "" {
		w.first = fmt.Sprintf("%s (%s): %s", n.Name(), n.Target(), why)
	}
}
