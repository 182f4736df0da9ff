package parity

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	torchfx "github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// generator guards the default random generator: a set that draws from it runs
// alone, so that the numbers are the ones of its seed.
var generator sync.RWMutex

// replayProgram replays a pt2 case: every input set and every set to refuse,
// each on a program loaded afresh, so that it starts from the archive's state.
func (c *Case) replayProgram(ctx context.Context, res *Result) {
	p, err := c.load()
	if err != nil {
		c.refusedLoad(res, err)
		return
	}
	c.lint(res, p)
	closeProgram(res, p)
	if len(c.meta.Sets) == 0 && len(c.meta.Reject) == 0 {
		res.Note = fmt.Sprintf("a graph only: loads, lints and prints, %d nodes", p.Module().Graph().Len())
		return
	}
	for k, set := range c.meta.Sets {
		c.replaySet(ctx, res, k, set)
		if ctx.Err() != nil {
			return
		}
	}
	for k, r := range c.meta.Reject {
		c.replayReject(ctx, res, k, r)
	}
	res.Note = summary(c.meta)
}

func (c *Case) load() (*torchfx.Program, error) {
	return torchfx.Load(filepath.Join(c.Dir, "model.pt2"))
}

func closeProgram(res *Result, p *torchfx.Program) {
	if err := p.Close(); err != nil {
		res.fault("close: %v", err)
	}
}

// summary says what a case compared.
func summary(m *caseMeta) string {
	parts := []string{plural(len(m.Sets), "set")}
	state, inputs := 0, 0
	for _, s := range m.Sets {
		state += len(s.ChangedState)
		inputs += len(s.ChangedInputs)
	}
	if state > 0 {
		parts = append(parts, plural(state, "changed buffer"))
	}
	if inputs > 0 {
		parts = append(parts, plural(inputs, "changed input"))
	}
	if len(m.Reject) > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", len(m.Reject)))
	}
	switch m.Compare {
	case "meta":
		parts = append(parts, "dtypes and shapes only")
	case "bits":
		parts = append(parts, "bit-equal")
	}
	return strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// lint checks and prints the graph, in both of its texts.
func (c *Case) lint(res *Result, p *torchfx.Program) {
	gm := p.Module()
	if err := gm.Graph().Lint(); err != nil {
		res.fault("lint: %v", err)
	}
	if gm.Graph().String() == "" {
		res.fault("graph text: expected some, got none")
	}
	if _, err := gm.Code(); err != nil {
		res.fault("code: %v", err)
	}
}

// refusedLoad judges a program that does not load. That is right only where it
// needs operators of a library that is not there and the message names each of
// them.
func (c *Case) refusedLoad(res *Result, err error) {
	if named := customOperators(c.meta.Note, err.Error()); named != nil && errors.Is(err, ir.ErrUnsupported) {
		res.Note = "refused, as it must be without the library of " + strings.Join(named, " and ")
		res.Told = append(res.Told, err.Error())
		return
	}
	res.fault("load: %v", err)
}

// customOperator finds the operators of a note such as "bump_(x, by): x += by"
// or "f(x) = x; g(x) = [x]".
var customOperator = regexp.MustCompile(`(?:^|; )(\w+)\(`)

// customOperators lists the operators that a case needs from a library which is
// not there, nil where it needs none or where message does not name them all.
func customOperators(note, message string) (named []string) {
	for _, m := range customOperator.FindAllStringSubmatch(note, -1) {
		name := "fixtures::" + m[1]
		if !hasWord(message, name) {
			return nil
		}
		named = append(named, name)
	}
	return named
}

// replaySet runs input set k and compares all that it leaves.
func (c *Case) replaySet(ctx context.Context, res *Result, k int, set inputSet) {
	p, err := c.load()
	if err != nil {
		res.fault("set %d: load: %v", k, err)
		return
	}
	defer closeProgram(res, p)
	inputs, err := c.inputs(set.Files.Inputs, set.Inputs)
	if err != nil {
		res.fault("set %d: %v", k, err)
		return
	}
	defer closeValues(inputs)
	expected, err := openTensors(filepath.Join(c.Dir, set.Files.Expected))
	if err != nil {
		res.fault("set %d: %v", k, err)
		return
	}
	defer expected.close()
	before, err := fingerprintsOf(p, inputs)
	if err != nil {
		res.fault("set %d: %v", k, err)
		return
	}
	outputs, err := runSet(ctx, p, inputs, set.Seed)
	if err != nil {
		res.fault("set %d: %v", k, err)
		return
	}
	defer closeValues(outputs)

	r := &recorded{meta: c.meta, set: k, tensors: expected, result: res}
	r.outputs(p, outputs, set.Outputs)
	r.state(before, set.ChangedState)
	r.inputs(inputs, before, set.ChangedInputs)
	if r.differs && set.Files.Nodes != "" {
		c.explain(ctx, res, k, set)
	}
}

// runSet runs a program on flat inputs. Random numbers are those of the seed.
func runSet(ctx context.Context, p *torchfx.Program, inputs []any, seed *uint64) ([]any, error) {
	unlock, err := seeded(seed)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return p.RunFlat(ctx, inputs)
}

// seeded takes the default generator, seeded or shared, until unlock.
func seeded(seed *uint64) (unlock func(), err error) {
	if seed == nil {
		generator.RLock()
		return generator.RUnlock, nil
	}
	generator.Lock()
	if err := libtorch.ManualSeed(*seed); err != nil {
		generator.Unlock()
		return nil, err
	}
	return generator.Unlock, nil
}

// replayReject checks that a set is refused for its inputs.
func (c *Case) replayReject(ctx context.Context, res *Result, k int, r reject) {
	p, err := c.load()
	if err != nil {
		res.fault("reject set %d: load: %v", k, err)
		return
	}
	defer closeProgram(res, p)
	inputs, err := c.inputs(r.File, r.Inputs)
	if err != nil {
		res.fault("reject set %d: %v", k, err)
		return
	}
	defer closeValues(inputs)
	outputs, err := runSet(ctx, p, inputs, nil)
	switch {
	case err == nil:
		closeValues(outputs)
		res.fault("reject set %d: expected a refusal (%s), but it ran", k, r.Why)
	case !errors.Is(err, ir.ErrInput):
		res.fault("reject set %d: expected a refusal of the inputs (%s), got another error: %v", k, r.Why, err)
	default:
		res.Told = append(res.Told, err.Error())
	}
}
