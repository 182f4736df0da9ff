package ir

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// names lists the nodes of g in the order of a walk.
func names(g *Graph) []string {
	out := []string{}
	for n := range g.Nodes() {
		out = append(out, n.Name())
	}
	return out
}

func inputNames(n *Node) []string {
	out := []string{}
	for _, m := range n.Inputs() {
		out = append(out, m.Name())
	}
	return out
}

func userNames(n *Node) []string {
	out := []string{}
	for m := range n.Users() {
		out = append(out, m.Name())
	}
	return out
}

// chain returns a graph of one placeholder and n calls of torch.relu in a row.
func chain(n int) (*Graph, []*Node) {
	g := NewGraph()
	nodes := []*Node{g.Placeholder("x")}
	relu := FuncOf("torch.relu")
	for range n {
		nodes = append(nodes, g.CallFunction(relu, []Arg{nodes[len(nodes)-1]}))
	}
	g.Output(nodes[len(nodes)-1])
	return g, nodes
}

// upstream: test_fx.TestFX.test_insertion_point
// upstream: test_fx.TestFX.test_multi_insert_point
func TestInsertionPoints(t *testing.T) {
	g, n := chain(2)
	neg := func() string { return g.CallFunction(FuncOf("torch.neg"), []Arg{n[0]}).Name() }

	restore, err := g.InsertBefore(n[2])
	require.NoError(t, err)
	require.Equal(t, "neg", neg())
	require.Equal(t, "neg_1", neg())
	assert.Equal(t, []string{"x", "relu", "neg", "neg_1", "relu_1", "output"}, names(g), "before keeps the order")

	inner, err := g.InsertAfter(n[1])
	require.NoError(t, err)
	neg()
	neg()
	assert.Equal(t, []string{"x", "relu", "neg_3", "neg_2", "neg", "neg_1", "relu_1", "output"}, names(g), "after reverses it")
	inner()
	neg()
	assert.Equal(t, "neg_4", n[2].Prev().Name(), "the outer point is back")
	restore()

	start, err := g.InsertBefore(nil)
	require.NoError(t, err)
	neg()
	neg()
	assert.Equal(t, "neg_6", g.First().Name(), "newest first at the start, as in torch.fx")
	start()
	neg()
	assert.Equal(t, "neg_7", g.Last().Name())

	_, other := chain(1)
	_, err = g.InsertBefore(other[1])
	require.ErrorIs(t, err, ErrAssertion)
	_, err = g.InsertAfter(other[1])
	require.ErrorContains(t, err, "Node to insert after is not in graph.")
}

func TestInsertionPointFollowsItsNode(t *testing.T) {
	g, n := chain(3)
	restore, err := g.InsertBefore(n[3])
	require.NoError(t, err)
	defer restore()
	require.NoError(t, n[0].Append(n[3]))
	g.GetAttr("a")
	assert.Equal(t, []string{"x", "a", "relu_2", "relu", "relu_1", "output"}, names(g))

	n[3].ReplaceAllUsesWith(n[0])
	require.NoError(t, g.Erase(n[3]))
	g.GetAttr("b")
	assert.Equal(t, []string{"x", "a", "b", "relu", "relu_1", "output"}, names(g), "the place of an erased node counts")
}

// upstream: test_fx.TestFX.test_move_before
// upstream: test_fx.TestFX.test_prepend_self
func TestMove(t *testing.T) {
	g, n := chain(3)
	require.NoError(t, n[3].Prepend(n[1]))
	assert.Equal(t, []string{"x", "relu_1", "relu", "relu_2", "output"}, names(g))
	require.NoError(t, n[1].Append(n[1]), "onto itself is allowed")
	require.NoError(t, n[3].Append(n[0]))
	assert.Equal(t, []string{"relu_1", "relu", "relu_2", "x", "output"}, names(g))
	assert.True(t, n[3].Before(n[0]))
	require.Error(t, g.Lint(), "x is read before it is made")

	_, other := chain(1)
	require.ErrorContains(t, n[0].Append(other[0]), "Attempting to move a Node into a different Graph")
}

// The three sentences about Graph.Nodes.
func TestWalkWhileTheGraphChanges(t *testing.T) {
	t.Run("a node inserted after the current one is visited, one before is not", func(t *testing.T) {
		g, n := chain(2)
		seen := []string{}
		for m := range g.Nodes() {
			seen = append(seen, m.Name())
			if m == n[1] {
				before, _ := g.InsertBefore(m)
				g.GetAttr("before")
				before()
				after, _ := g.InsertAfter(m)
				g.GetAttr("after")
				after()
			}
		}
		assert.Equal(t, []string{"x", "relu", "after", "relu_1", "output"}, seen)
	})
	t.Run("erasing the current or a later node is safe", func(t *testing.T) {
		g, n := chain(4)
		g.OutputNode()
		seen := []string{}
		for m := range g.Nodes() {
			seen = append(seen, m.Name())
			if m == n[1] {
				for _, d := range []*Node{n[2], n[3]} {
					d.ReplaceAllUsesWith(n[1])
					require.NoError(t, g.Erase(d))
				}
				n[1].ReplaceAllUsesWith(n[0])
				require.NoError(t, g.Erase(n[1]))
			}
		}
		assert.Equal(t, []string{"x", "relu", "relu_3", "output"}, seen)
	})
	t.Run("when the current node is moved, the walk goes on from its old place", func(t *testing.T) {
		g, n := chain(3)
		seen := []string{}
		for m := range g.Nodes() {
			seen = append(seen, m.Name())
			if m == n[1] {
				require.NoError(t, n[3].Append(m))
			}
			require.Less(t, len(seen), 10)
		}
		assert.Equal(t, []string{"x", "relu", "relu_1", "relu_2", "relu", "output"}, seen, "and meets it again, since it lies ahead")
	})
	t.Run("mirrored backward", func(t *testing.T) {
		g, n := chain(3)
		seen := []string{}
		for m := range g.Backward() {
			seen = append(seen, m.Name())
			if m == n[3] {
				m.ReplaceAllUsesWith(n[2])
				require.NoError(t, g.Erase(m))
				before, _ := g.InsertBefore(n[1])
				g.GetAttr("before")
				before()
			}
		}
		assert.Equal(t, []string{"output", "relu_2", "relu_1", "relu", "before", "x"}, seen)
	})
}

// upstream: test_fx.TestFX.test_erase_node_error
func TestEraseRefuses(t *testing.T) {
	g, n := chain(1)
	require.EqualError(t, g.Erase(n[0]), "Tried to erase Node x but it still had 1 users in the graph: {relu: None}!")
	other, _ := chain(0)
	require.ErrorIs(t, other.Erase(n[1]), ErrRuntime)
	require.NoError(t, g.Erase(g.Last()))
	require.NoError(t, g.Erase(n[1]))
	require.EqualError(t, g.Erase(n[1]), "erase_node(relu) on an already erased node")
	assert.Nil(t, g.Lookup("relu"))
	assert.Equal(t, "relu_1", g.CallFunction(FuncOf("torch.relu"), []Arg{n[0]}).Name(), "a name is never given back")
	assert.PanicsWithValue(t, "ir: Node.Rename of relu, which was erased", func() { n[1].Rename("y") })
}

// upstream: test_fx.TestFX.test_all_input_nodes
// upstream: test_fx.TestFX.test_find_uses
// upstream: test_fx.TestFX.test_reassign_args_kwargs_uses
// upstream: test_fx.TestFX.test_update_args_api
// upstream: test_fx.TestFX.test_update_kwargs_api
// upstream: test_fx.TestFX.test_insert_arg
func TestOperands(t *testing.T) {
	g := NewGraph()
	a, b, c := g.Placeholder("a"), g.Placeholder("b"), g.Placeholder("c")
	n := g.CallFunction(FuncOf("torch.cat"), []Arg{ListOf(a, TupleOf(b)), DictOf(Pair{Str("k"), c})},
		Kwargs(Kw("s", Slice{Start: a}), Kw("none", nil)))
	m := g.CallFunction(FuncOf("torch.neg"), []Arg{a})
	assert.Equal(t, []string{"a", "b", "c"}, inputNames(n))
	assert.Equal(t, []string{"cat", "neg"}, userNames(a))

	n.UpdateKwarg("s", b)
	assert.Equal(t, []string{"neg", "cat"}, userNames(a), "a changed user joins again at the end")
	require.NoError(t, n.UpdateArg(-1, Int(1)))
	assert.Empty(t, userNames(c))
	require.ErrorIs(t, n.UpdateArg(2, Int(1)), ErrIndex)
	require.NoError(t, n.InsertArg(1, c))
	require.ErrorIs(t, n.InsertArg(4, c), ErrAssertion)
	assert.Equal(t, "%cat : [num_users=0] = call_function[target=torch.cat](args = ([%a, (%b,)], %c, 1), kwargs = {s: %b, none: None})",
		n.Format())
	m.SetArgs(b)
	assert.Equal(t, []string{"cat"}, userNames(a))
	require.ErrorIs(t, m.SetTarget(Path("x")), ErrValue)
	require.NoError(t, m.SetOp(CallMethod, Path("neg")))
	assert.Equal(t, "neg", m.Target().String())
}

// upstream: test_fx.TestFX.test_remove_uses_with_custom_filter
// Names of before are forgotten, kept ones come first, and hooks hear of the new
// ones.
func TestRenameAll(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x", Name("input"))
	a := g.CallFunction(FuncOf("torch.abs"), []Arg{x}, Name("a"))
	b := g.CallFunction(FuncOf("torch.abs"), []Arg{a}, Name("b"))
	relu := g.CallMethod("relu", []Arg{b}, Name("abs_1"))
	g.Output(relu)
	gm, err := NewGraphModule(nil, g)
	require.NoError(t, err)
	var heard []string
	gm.OnReplace(func(old *Node, name string, user *Node) { heard = append(heard, old.Name()+">"+name+"@"+user.Name()) })
	renamed := g.RenameAll(func(n *Node) bool { return n.Op() == CallMethod })
	require.NoError(t, g.Lint(Strict()))
	assert.Equal(t, map[string]string{"input_1": "x", "a": "abs_2", "b": "abs_3"}, renamed)
	assert.Equal(t, []string{"input_1>x@a", "a>abs_2@b", "b>abs_3@abs_1"}, heard)
	assert.Same(t, b, g.Lookup("abs_3"))
	assert.Nil(t, g.Lookup("b"))

	assert.Equal(t, map[string]string{"abs_2": "abs_1", "abs_3": "abs_2", "abs_1": "relu"}, g.RenameAll(nil))
	assert.Same(t, b, g.Lookup("abs_2"))
	require.NoError(t, g.Lint(Strict()))
}

// upstream: test_fx_node_hook.TestFXNodeHook.test_hooks_for_node_update
func TestReplaceAllUses(t *testing.T) {
	g, n := chain(1)
	n[0].Meta().Set("k", 1)
	after, _ := g.InsertAfter(n[0])
	b := g.CallFunction(FuncOf("torch.abs"), []Arg{n[0]})
	after()
	var heard []string
	gm, err := NewGraphModule(nil, g)
	require.NoError(t, err)
	remove := gm.OnReplace(func(old *Node, name string, user *Node) { heard = append(heard, old.Name()+">"+name+"@"+user.Name()) })
	changed := n[0].ReplaceAllUsesWith(b, PropagateMeta())
	assert.Equal(t, []*Node{n[1]}, changed, "the new node keeps reading the old one")
	assert.Equal(t, 1, b.Meta().Get("k"))
	require.NoError(t, g.Lint(Strict()))
	b.Rename("c")
	assert.Equal(t, []string{"x>abs_1@relu", "abs_1>c@relu"}, heard)
	remove()
	assert.Empty(t, b.ReplaceAllUsesWith(n[0], OnlyUsers(func(*Node) bool { return false })))
	assert.Len(t, heard, 2)
}

// upstream: test_fx_node_hook.TestFXNodeHook.test_hooks_for_node_update
func TestHooks(t *testing.T) {
	g, n := chain(1)
	gm, err := NewGraphModule(nil, g)
	require.NoError(t, err)
	var heard []string
	gm.OnCreate(func(n *Node) { heard = append(heard, "create "+n.Name()) })
	remove := gm.OnErase(func(n *Node) { heard = append(heard, fmt.Sprint("erase ", n.Name(), inputNames(n))) })
	d := g.CallFunction(FuncOf("torch.neg"), []Arg{n[0]})
	require.NoError(t, g.Erase(d))
	remove()
	require.NoError(t, g.Erase(g.CallFunction(FuncOf("torch.neg"), []Arg{n[0]})))
	assert.Equal(t, []string{"create neg", "erase neg[x]", "create neg_1"}, heard)
}

// randomEdits builds and changes a graph in ways that keep it in order.
func randomEdits(t *rapid.T, g *Graph) {
	g.Placeholder("x")
	all := func() []*Node { return slices.Collect(g.Nodes()) }
	pick := func(label string, from []*Node) *Node { return rapid.SampledFrom(from).Draw(t, label) }
	for range rapid.IntRange(1, 60).Draw(t, "edits") {
		nodes := all()
		switch rapid.IntRange(0, 8).Draw(t, "edit") {
		case 0, 1, 2: // a new node behind another one
			at := pick("at", nodes)
			restore, err := g.InsertAfter(at)
			require.NoError(t, err)
			earlier := nodes[:slices.Index(nodes, at)+1]
			g.CallFunction(FuncOf("torch.add"), []Arg{pick("a", earlier), ListOf(pick("b", earlier), Int(1))},
				Kwargs(Kw("k", Slice{Start: pick("c", earlier)})))
			restore()
		case 3: // erase what nobody reads
			n := pick("erase", nodes)
			if err := g.Erase(n); n.Graph() != nil {
				require.Error(t, err)
			}
			if g.Len() == 0 {
				g.Placeholder("x")
			}
		case 4: // new operands
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "set")
			if i > 0 && nodes[i].Op() != Placeholder {
				nodes[i].SetArgs(pick("a", nodes[:i]), TupleOf(pick("b", nodes[:i])))
			}
		case 5: // read an earlier node instead
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "replace")
			if i > 0 {
				nodes[i].ReplaceAllUsesWith(pick("by", nodes[:i]))
			}
		case 6:
			pick("rename", nodes).Rename(rapid.SampledFrom([]string{"a", "a_1", "x", "len", "b_7", "b"}).Draw(t, "name"))
		case 7: // to a place between its inputs and its users
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "move")
			n := nodes[i]
			low, high := 0, len(nodes)-1
			for j, m := range nodes {
				if m.HasUser(n) {
					low = max(low, j)
				}
				if n.HasUser(m) {
					high = min(high, j-1)
				}
			}
			if low < high {
				target := nodes[rapid.IntRange(low, high).Draw(t, "behind")]
				require.NoError(t, target.Append(n))
			}
		case 8:
			if n := pick("copy", nodes); n.Op() != Placeholder {
				_, err := g.CopyNode(n, nil)
				require.NoError(t, err)
			}
		}
	}
}

func TestEditsKeepTheInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewGraph()
		randomEdits(t, g)
		require.NoError(t, g.Lint())
		recount := &linter{graph: g}
		recount.users()
		require.Empty(t, recount.faults)

		nodes := slices.Collect(g.Nodes())
		require.Len(t, nodes, g.Len())
		for i, n := range nodes {
			require.Same(t, n, g.Lookup(n.Name()))
			require.Equal(t, i > 0, n.Prev() != nil)
			require.Equal(t, i < len(nodes)-1, n.Next() != nil)
			for j, m := range nodes {
				require.Equal(t, i < j, n.Before(m), "%s before %s", n.Name(), m.Name())
			}
		}
		back := slices.Collect(g.Backward())
		slices.Reverse(back)
		require.Equal(t, nodes, back)

		c := g.Clone()
		require.NoError(t, Equal(g, c))
		require.Equal(t, g.Len(), c.Len())
		require.NoError(t, c.Lint())
	})
}

// Many insertions at one place exhaust the gap between two labels again and
// again.
func TestOrderSurvivesCrowding(t *testing.T) {
	for _, tc := range []struct {
		name  string
		point func(*Graph, []*Node) (func(), error)
	}{
		{"before one node", func(g *Graph, n []*Node) (func(), error) { return g.InsertBefore(n[2]) }},
		{"after one node", func(g *Graph, n []*Node) (func(), error) { return g.InsertAfter(n[1]) }},
		{"at the start", func(g *Graph, n []*Node) (func(), error) { return g.InsertBefore(nil) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, n := chain(3)
			_, err := tc.point(g, n)
			require.NoError(t, err)
			for range 20000 {
				g.GetAttr("a")
			}
			prev := g.First()
			for m := prev.Next(); m != nil; prev, m = m, m.Next() {
				require.Less(t, prev.at.order, m.at.order)
			}
		})
	}
}
