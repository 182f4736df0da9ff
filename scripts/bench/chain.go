package main

import (
	"context"
	"fmt"
	"time"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A contender runs a chain so often and returns how long that took.
type contender struct {
	name string
	ops  int // operators of one run
	run  func(times int) (time.Duration, error)
	took []float64 // nanoseconds an operator, by round
}

// A chain is one benchmark.
type chain struct {
	title      string
	operators  int
	contenders []*contender
	aims       []aim
}

// An aim is how many times as long as another a contender is to take at least; where
// it is below one, the other may take longer by the inverse.
type aim struct {
	Slow string  `json:"slow"`
	Fast string  `json:"fast"`
	Aim  float64 `json:"aim"`
}

// measure runs every contender in turn, each for some ten milliseconds. One run that is
// not measured begins a turn: by the one before, the allocator may have given back to
// the system what this one is to use.
func (c *chain) measure(rounds int) error {
	times := map[*contender]int{}
	for _, x := range c.contenders { // warm, and find how often
		// the first runs compile, look at what is done and plan it
		if _, err := x.run(3); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		n := 1
		for {
			took, err := x.run(n)
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			if took > 10*time.Millisecond {
				break
			}
			n *= 2
		}
		times[x] = n
	}
	for range rounds {
		for _, x := range c.contenders {
			if _, err := x.run(1); err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			took, err := x.run(times[x])
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			x.took = append(x.took, float64(took.Nanoseconds())/float64(times[x]*x.ops))
		}
	}
	return nil
}

// addGo adds the two executors of this module, and a graph module that is called as
// a model calls its parts.
func (c *chain) addGo(gm *ir.GraphModule, args ...any) error {
	plan, err := interpreter.Compile(gm)
	if err != nil {
		return err
	}
	module := interpreter.AsModule(gm)
	called := func(_ context.Context, args ...any) (any, error) { return module.Forward(args...), nil }
	c.contenders = append(c.contenders,
		&contender{name: "Plan", ops: c.operators, run: timed(plan.Run, args)},
		&contender{name: "Interpreter", ops: c.operators, run: timed(interpreter.New(gm).Run, args)},
		&contender{name: "graph module, called", ops: c.operators, run: timed(called, args)})
	return nil
}

// addFixed adds a run of one operator: what a run costs beside its operators.
func (c *chain) addFixed(gm *ir.GraphModule, args ...any) error {
	plan, err := interpreter.Compile(gm)
	if err != nil {
		return err
	}
	c.contenders = append(c.contenders, &contender{name: "Plan of one operator, a whole run", ops: 1, run: timed(plan.Run, args)})
	return nil
}

// addApart adds a Plan that does every operator by itself.
func (c *chain) addApart(gm *ir.GraphModule, args ...any) error {
	plan, err := interpreter.Compile(gm, interpreter.PlanFusion(false))
	if err != nil {
		return err
	}
	c.contenders = append(c.contenders, &contender{name: "Plan without fusion", ops: c.operators, run: timed(plan.Run, args)})
	return nil
}

func timed(run func(context.Context, ...any) (any, error), args []any) func(int) (time.Duration, error) {
	return func(times int) (time.Duration, error) {
		ctx := context.Background()
		start := cpuTime()
		for range times {
			out, err := run(ctx, args...)
			if err != nil {
				return 0, err
			}
			if err := out.(*torch.Tensor).Close(); err != nil {
				return 0, err
			}
		}
		return cpuTime() - start, nil
	}
}

func (c *chain) addPython(py *python, name string) {
	for _, x := range []struct{ key, title string }{
		{"eager", "Python eager"}, {"graph_module", "Python torch.fx GraphModule"}, {"interpreter", "Python torch.fx Interpreter"},
	} {
		c.contenders = append(c.contenders, &contender{name: x.title, ops: c.operators, run: func(times int) (time.Duration, error) {
			return py.run(name+"/"+x.key, times)
		}})
	}
}

func (c *chain) addCompiled(py *python, name string) {
	c.contenders = append(c.contenders, &contender{name: compiled, ops: c.operators, run: func(times int) (time.Duration, error) {
		return py.run(name+"/compile", times)
	}})
}
