package passes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// swap makes a pass that replaces a function by another.
func swap(name, from, to string) *passes.Pass {
	return passes.InPlace(name, func(_ context.Context, m *ir.GraphModule) error {
		for _, n := range m.Graph().Find(ir.CallFunction, ir.FuncOf(from)) {
			if err := n.SetTarget(ir.FuncOf(to)); err != nil {
				return err
			}
		}
		return nil
	})
}

// upstream: test_pass_infra.TestPassManager.test_pass_manager
// upstream: test_pass_infra.TestPassManager.test_this_before_that_pass_constraint
// upstream: test_pass_infra.TestPassManager.test_pass_manager_bad_checks
// upstream: test_pass_infra.TestPassManager.test_topological_sort
// upstream: test_pass_infra.TestPassManager.test_pass_manager_error
func TestRecordedPassManager(t *testing.T) {
	c := fxcase.Open(t, "pass_manager")
	var want struct {
		Modified bool
		Order    []int
		Errors   [][]string
	}
	c.Recorded(&want)
	m := traced(t, func(x *torch.Tensor) *torch.Tensor { return torch.Add(x, torch.Add(x, 1)) }, parameters("x"))
	add, mul := swap("replace_add", "torch.add", "torch.mul"), swap("replace_mul", "torch.mul", "torch.div")
	ctx := context.Background()
	res, err := passes.NewManager([]*passes.Pass{add, mul}, passes.Steps(1)).Run(ctx, m)
	require.NoError(t, err)
	require.Equal(t, want.Modified, res.Modified)
	c.Same(res.Module, nil)

	six := make([]*passes.Pass, 6)
	for i := range six {
		six[i] = &passes.Pass{Name: fmt.Sprint(i)}
	}
	var constraints []passes.Constraint
	for _, pair := range [][2]int{{5, 0}, {5, 2}, {4, 0}, {4, 1}, {2, 3}, {3, 1}} {
		constraints = append(constraints, passes.Before(six[pair[0]], six[pair[1]]))
	}
	manager := passes.NewManager(six, passes.WithConstraints(constraints...))
	require.ErrorContains(t, manager.Validate(), "pass schedule constraint violated. Expected 5 before 0 but found 0 at index 0 and 5 at index 5")
	require.NoError(t, manager.Solve())
	var order []int
	for _, p := range manager.Passes() {
		var i int
		fmt.Sscan(p.Name, &i)
		order = append(order, i)
	}
	require.Equal(t, want.Order, order)
	require.NoError(t, manager.Validate())

	bad := errors.New("bad")
	broken := passes.InPlace("broken", func(context.Context, *ir.GraphModule) error { return bad })
	_, err = passes.NewManager([]*passes.Pass{add, broken}).Run(ctx, m)
	require.ErrorContains(t, err, want.Errors[0][1])
	require.ErrorIs(t, err, bad)
	none := &passes.Pass{Name: "replace_add", Run: func(context.Context, *ir.GraphModule) (passes.PassResult, error) { return passes.PassResult{}, nil }}
	_, err = passes.NewManager([]*passes.Pass{none}).Run(ctx, m)
	require.ErrorContains(t, err, want.Errors[1][1])
	require.ErrorIs(t, err, ir.ErrType)
	// the third error is a check with two parameters, which Go's types refuse
	manager.AddConstraint(passes.Before(six[0], six[5]))
	err = manager.Solve()
	require.ErrorIs(t, err, ir.ErrRuntime)
	require.ErrorContains(t, err, want.Errors[3][1]+"5, 0, 2, 3, 1]")
}

// upstream: test_pass_infra.TestPassManager.test_pass_manager_checks
func TestManagerChecks(t *testing.T) {
	ctx := context.Background()
	m := module(t, "def forward(self, x):\n    add = torch.add(x, 1);  x = None\n    return add")
	unhappy := errors.New("a mul")
	check := passes.WithCheck(func(m *ir.GraphModule) error {
		if m.Graph().Find(ir.CallFunction, ir.FuncOf("torch.mul")) != nil {
			return unhappy
		}
		return nil
	})
	toMul := []*passes.Pass{swap("to_mul", "torch.add", "torch.mul")}
	_, err := passes.NewManager(toMul, check).Run(ctx, m.Clone())
	require.NoError(t, err)
	_, err = passes.NewManager(toMul, check, passes.CheckEachPass()).Run(ctx, m.Clone())
	require.ErrorIs(t, err, unhappy)
	failed, ok := errors.AsType[*passes.PassError](err)
	require.True(t, ok)
	require.Equal(t, "to_mul", failed.Pass)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = passes.NewManager(toMul).Run(cancelled, m)
	require.ErrorIs(t, err, ir.ErrCancelled)
}

func TestManagerStopsWhenNothingChanges(t *testing.T) {
	runs, left := 0, 2
	p := &passes.Pass{Name: "countdown", Run: func(_ context.Context, m *ir.GraphModule) (passes.PassResult, error) {
		runs++
		left--
		return passes.PassResult{Module: m, Modified: left > 0}, nil
	}}
	res, err := passes.NewManager([]*passes.Pass{p}, passes.Steps(10)).Run(context.Background(), module(t, reluNeg))
	require.NoError(t, err)
	require.True(t, res.Modified)
	require.Equal(t, 2, runs)
}

// Duplicates are merged, then what became unused goes.
func ExampleManager() {
	g, err := ir.ParseCode(`def forward(self, x):
    cos = torch.cos(x)
    cos_1 = torch.cos(x)
    sin = torch.sin(cos_1);  sin = None
    add = cos + cos_1;  cos = cos_1 = None
    return add`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	merge := &passes.Pass{Name: "merge", Run: func(_ context.Context, m *ir.GraphModule) (passes.PassResult, error) {
		merges, err := passes.CSE(m)
		return passes.PassResult{Module: m, Modified: len(merges) > 0}, err
	}}
	sweep := &passes.Pass{Name: "sweep", Run: func(_ context.Context, m *ir.GraphModule) (passes.PassResult, error) {
		changed, err := m.Graph().EliminateDeadCode()
		return passes.PassResult{Module: m, Modified: changed}, err
	}}
	manager := passes.NewManager([]*passes.Pass{sweep, merge}, passes.Steps(3), passes.CheckEachPass(),
		passes.WithConstraints(passes.Before(merge, sweep)))
	res, err := manager.Run(context.Background(), m)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Modified, res.Module.Graph().Len())
	// Output:
	// true 4
}
