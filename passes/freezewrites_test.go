package passes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A written is a program that writes. What it calls self.again is self.k.
type written struct {
	name, body string
	attrs      map[string][]int
	inputs     [][]int
	twice      bool // the second argument is the first
}

var writing = []written{
	{"linear, write, linear", `
a = torch.ops.aten.linear.default(x, self.w, self.b)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.linear.default(x, self.w2, self.b2)
return (a, c)`, map[string][]int{"w": {8, 8}, "b": {8}, "w2": {8, 8}, "b2": {8}}, [][]int{{4, 8}}, false},
	{"linear, write, linear, sliced", `
a = torch.ops.aten.linear.default(x, self.w, self.b)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.linear.default(x, self.w2, self.b2)
d = torch.ops.aten.add.Tensor(a, c)
return d`, map[string][]int{"w": {8, 8}, "b": {8}, "w2": {8, 8}, "b2": {8}}, [][]int{{4, 8}}, false},
	{"linear, write, relu", `
a = torch.ops.aten.linear.default(x, self.w, self.b)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.relu.default(a)
return c`, map[string][]int{"w": {8, 8}, "b": {8}}, [][]int{{4, 8}}, false},
	{"linear, write, add", `
a = torch.ops.aten.linear.default(x, self.w, self.b)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.add.Tensor(a, y)
return c`, map[string][]int{"w": {8, 8}, "b": {8}}, [][]int{{4, 8}, {4, 8}}, false},
	{"conv, write, relu", `
a = torch.ops.aten.conv2d.default(x, self.w, self.b)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.relu.default(a)
return c`, map[string][]int{"w": {8, 8, 3, 3}, "b": {8}}, [][]int{{2, 8, 6, 6}}, false},
	{"conv, write, add", `
a = torch.ops.aten.conv2d.default(x, self.w, self.b)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.add.Tensor(a, y)
return c`, map[string][]int{"w": {8, 8, 3, 3}, "b": {8}}, [][]int{{2, 8, 6, 6}, {2, 8, 4, 4}}, false},
	{"norm, write, conv", `
a = torch.ops.aten.batch_norm.default(x, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.conv2d.default(a, self.w)
return c`, map[string][]int{"w": {8, 8, 3, 3}, "g": {8}, "b": {8}, "m": {8}, "var": {8}}, [][]int{{2, 8, 6, 6}}, false},
	{"silu, write", `
a = torch.ops.aten.sigmoid.default(x)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.mul.Tensor(x, a)
return c`, nil, [][]int{{4, 8}}, false},
	{"eq_ of a fresh value", `
a = torch.ops.aten.add.Tensor(x, 1)
c = torch.ops.aten.eq_.Tensor(a, y)
d = torch.ops.aten.add.Tensor(c, 1.5)
return (d, c)`, nil, [][]int{{4, 8}, {4, 8}}, false},
	{"logical_not_ of a fresh value", `
a = torch.ops.aten.relu.default(x)
c = torch.ops.aten.logical_not_.default(a)
return c`, nil, [][]int{{4, 8}}, false},
	{"lt_ of a fresh value", `
a = torch.ops.aten.relu.default(x)
c = torch.ops.aten.lt_.Scalar(a, 0.5)
return c`, nil, [][]int{{4, 8}}, false},
	{"relu_ of a sliced fresh value", `
a = torch.ops.aten.add.Tensor(x, 1)
v = torch.ops.aten.slice.Tensor(a, 1, 0, 8, 2)
c = torch.ops.aten.relu_.default(v)
return c`, nil, [][]int{{4, 8}}, false},
	{"copy_ into a transposed fresh value", `
a = torch.ops.aten.add.Tensor(x, 1)
v = torch.ops.aten.t.default(a)
c = torch.ops.aten.copy_.default(v, y)
return c`, nil, [][]int{{4, 8}, {8, 4}}, false},
	{"add_ into a transposed fresh value", `
a = torch.ops.aten.add.Tensor(x, 1)
v = torch.ops.aten.t.default(a)
c = torch.ops.aten.add_.Tensor(v, y)
return c`, nil, [][]int{{4, 8}, {8, 4}}, false},
	{"clamp_ then view", `
a = torch.ops.aten.add.Tensor(x, 1)
v = torch.ops.aten.slice.Tensor(a, 1, 0, 8, 2)
c = torch.ops.aten.clamp_.default(v, 0, 1)
s = torch.ops.aten.as_strided.default(c, [3], [1])
return s`, nil, [][]int{{4, 8}}, false},
	{"attention, key written", `
t = torch.ops.aten.transpose.int(y, -2, -1)
s = torch.ops.aten.matmul.default(x, t)
p = torch.ops.aten.softmax.int(s, -1)
u = torch.ops.aten.mul_.Scalar(z, 3)
r = torch.ops.aten.matmul.default(p, z)
return r`, nil, [][]int{{2, 4, 6, 8}, {2, 4, 6, 8}, {2, 4, 6, 8}}, false},
	{"dropout identity of a written input", `
a = torch.ops.aten.dropout.default(x, 0.5, False)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.relu.default(a)
return (c, a)`, nil, [][]int{{4, 8}}, false},
	{"clone of a written input", `
a = torch.ops.aten.clone.default(x)
u = torch.ops.aten.mul_.Scalar(x, 3)
c = torch.ops.aten.relu.default(a)
return (c, a)`, nil, [][]int{{4, 8}}, false},
	{"conv of norm whose statistics are written", `
u = torch.ops.aten.mul_.Scalar(self.m, 2)
c = torch.ops.aten.conv2d.default(x, self.w)
a = torch.ops.aten.batch_norm.default(c, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)
return a`, map[string][]int{"w": {8, 8, 3, 3}, "g": {8}, "b": {8}, "m": {8}, "var": {8}}, [][]int{{2, 8, 6, 6}}, false},
	{"conv and norm that trains", `
c = torch.ops.aten.conv2d.default(x, self.w)
a = torch.ops.aten.batch_norm.default(c, self.g, self.b, self.m, self.var, True, 0.1, 1e-05, True)
e = torch.ops.aten.batch_norm.default(c, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)
return (a, e)`, map[string][]int{"w": {8, 8, 3, 3}, "g": {8}, "b": {8}, "m": {8}, "var": {8}}, [][]int{{2, 8, 6, 6}}, false},
	{"conv and norm by statistics that another norm trains", `
c = torch.ops.aten.conv2d.default(x, self.w)
e = torch.ops.aten.batch_norm.default(c, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)
t = torch.ops.aten.batch_norm.default(x, self.g, self.b, self.m, self.var, True, 0.1, 1e-05, True)
return (e, t)`, map[string][]int{"w": {8, 8, 3, 3}, "g": {8}, "b": {8}, "m": {8}, "var": {8}}, [][]int{{2, 8, 6, 6}}, false},
	{"a weight that is written past dropout", `
d = torch.ops.aten.dropout.default(self.w, 0.5, False)
u = torch.ops.aten.mul_.Scalar(d, 2)
r = torch.ops.aten.linear.default(x, self.w, self.b)
return torch.ops.aten.relu.default(r)`, map[string][]int{"w": {8, 8}, "b": {8}}, [][]int{{4, 8}}, false},
	{"norm legit functional", `
c = torch.ops.aten.conv2d.default(x, self.w)
a = torch.ops.aten._native_batch_norm_legit.default(c, self.g, self.b, self.m, self.var, True, 0.1, 1e-05)
i = operator.getitem(a, 0)
e = torch.ops.aten.batch_norm.default(i, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)
return (i, e)`, map[string][]int{"w": {8, 8, 3, 3}, "g": {8}, "b": {8}, "m": {8}, "var": {8}}, [][]int{{2, 8, 6, 6}}, false},
	{"bias written between", `
u = torch.ops.aten.add_.Scalar(self.b, 2)
c = torch.ops.aten.linear.default(x, self.w, self.b)
r = torch.ops.aten.relu.default(c)
return r`, map[string][]int{"w": {8, 8}, "b": {8}}, [][]int{{4, 8}}, false},
	{"out argument", `
c = torch.ops.aten.linear.default(x, self.w, self.b)
o = torch.ops.aten.add.out(x, y, out=x)
r = torch.ops.aten.relu.default(c)
return (r, o)`, map[string][]int{"w": {8, 8}, "b": {8}}, [][]int{{4, 8}, {4, 8}}, false},
	{"residual written between", `
c = torch.ops.aten.linear.default(x, self.w, self.b)
a = torch.ops.aten.add.Tensor(y, 1)
s = torch.ops.aten.add.Tensor(c, a)
u = torch.ops.aten.mul_.Scalar(a, 2)
return (s, u)`, map[string][]int{"w": {8, 8}, "b": {8}}, [][]int{{4, 8}, {4, 8}}, false},
	{"layer norm, input written", `
mean = torch.ops.aten.mean.dim(x, [-1], True)
d = torch.ops.aten.sub.Tensor(x, mean)
square = torch.ops.aten.pow.Tensor_Scalar(d, 2)
u = torch.ops.aten.mul_.Scalar(x, 2)
var = torch.ops.aten.mean.dim(square, [-1], True)
shifted = torch.ops.aten.add.Tensor(var, 1e-05)
root = torch.ops.aten.sqrt.default(shifted)
n = torch.ops.aten.div.Tensor(d, root)
scaled = torch.ops.aten.mul.Tensor(n, self.w)
return torch.ops.aten.add.Tensor(scaled, self.b)`, map[string][]int{"w": {8}, "b": {8}}, [][]int{{4, 8}}, false},
	{"lstm, input written", `
h = torch.ops.aten.zeros.default([1, 3, 5])
l = torch.ops.aten.lstm.input(x, [h, h], [self.w, self.u, self.b, self.c], True, 1, 0.0, False, False, False)
o = operator.getitem(l, 0)
u2 = torch.ops.aten.mul_.Scalar(x, 2)
hn = operator.getitem(l, 1)
return (o, hn)`, map[string][]int{"w": {20, 4}, "u": {20, 5}, "b": {20}, "c": {20}}, [][]int{{6, 3, 4}}, false},
	{"constant written through a view of a fold", `
t = torch.ops.aten.t.default(self.w)
n = torch.ops.aten.neg.default(t)
u = torch.ops.aten.mul_.Scalar(n, 2)
r = torch.ops.aten.mm.default(x, n)
return r`, map[string][]int{"w": {8, 8}}, [][]int{{4, 8}}, false},
	{"constant returned", `
n = torch.ops.aten.neg.default(self.w)
v = torch.ops.aten.view.default(n, [64])
r = torch.ops.aten.mm.default(x, n)
return (r, v)`, map[string][]int{"w": {8, 8}}, [][]int{{4, 8}}, false},
	{"sum over what it reads by another name", `
a = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])
v = torch.ops.aten.alias.default(a)
c = torch.ops.aten.conv2d.default(v, self.w2, self.b2, [1, 1], [1, 1])
s = torch.ops.aten.add.Tensor(c, a)
return s`, map[string][]int{"w": {8, 8, 3, 3}, "b": {8}, "w2": {8, 8, 3, 3}, "b2": {8}}, [][]int{{2, 8, 6, 6}}, false},
	{"sum over what it reads, turned", `
a = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])
v = torch.ops.aten.transpose.int(a, 2, 3)
c = torch.ops.aten.conv2d.default(v, self.w2, self.b2, [1, 1], [1, 1])
s = torch.ops.aten.add.Tensor(c, a)
return s`, map[string][]int{"w": {8, 8, 3, 3}, "b": {8}, "w2": {8, 8, 3, 3}, "b2": {8}}, [][]int{{2, 8, 6, 6}}, false},
	{"sum over what it reads, batch for channels", `
a = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])
v = torch.ops.aten.transpose.int(a, 0, 1)
c = torch.ops.aten.conv2d.default(v, self.w2, self.b2, [1, 1], [1, 1])
s = torch.ops.aten.add.Tensor(c, a)
return s`, map[string][]int{"w": {8, 8, 3, 3}, "b": {8}, "w2": {8, 8, 3, 3}, "b2": {8}}, [][]int{{8, 8, 6, 6}}, false},
	{"a copy of an argument that is written by another name", `
a = torch.ops.aten.clone.default(x)
u = torch.ops.aten.mul_.Scalar(y, 3)
c = torch.ops.aten.relu.default(a)
return c`, nil, [][]int{{4, 8}, {4, 8}}, true},
	{"a linear layer of an argument that is written by another name", `
a = torch.ops.aten.linear.default(x, self.w, self.b)
u = torch.ops.aten.mul_.Scalar(y, 3)
c = torch.ops.aten.linear.default(x, self.w2, self.b)
r = torch.ops.aten.relu.default(a)
return torch.ops.aten.add.Tensor(r, c)`, map[string][]int{"w": {8, 8}, "b": {8}, "w2": {8, 8}}, [][]int{{4, 8}, {4, 8}}, true},
	{"a residual of state that is read twice", `
a = torch.ops.aten.linear.default(x, self.w, self.b)
u = torch.ops.aten.mul_.Scalar(self.again, 3)
s = torch.ops.aten.add.Tensor(a, self.k)
return s`, map[string][]int{"w": {8, 8}, "b": {8}, "k": {4, 8}, "again": {4, 8}}, [][]int{{4, 8}}, false},
	{"a copy of state that is read twice", `
a = torch.ops.aten.clone.default(self.k)
u = torch.ops.aten.mul_.Scalar(self.again, 3)
s = torch.ops.aten.add.Tensor(x, a)
return s`, map[string][]int{"k": {4, 8}, "again": {4, 8}}, [][]int{{4, 8}}, false},
	{"cumsum_ of what lies in columns", `
t = torch.ops.aten.t.default(x)
a = torch.ops.aten.relu.default(t)
c = torch.ops.aten.cumsum_.default(a, 0)
return c`, nil, [][]int{{4, 8}}, false},
	{"attention, mask written", `
t = torch.ops.aten.transpose.int(y, -2, -1)
s = torch.ops.aten.matmul.default(x, t)
m = torch.ops.aten.add.Tensor(s, z)
p = torch.ops.aten.softmax.int(m, -1)
u = torch.ops.aten.mul_.Scalar(z, 3)
r = torch.ops.aten.matmul.default(p, y)
return r`, nil, [][]int{{2, 4, 6, 8}, {2, 4, 6, 8}, {2, 4, 6, 6}}, false},
	{"a value and its view are returned, and one more", `
a = torch.ops.aten.relu.default(x)
v = torch.ops.aten.view.default(a, [32])
w = torch.ops.aten.view.default(a, [4, 8])
c = torch.ops.aten.contiguous.default(w)
d = torch.ops.aten.clone.default(a)
return (a, v, w, c, d, a)`, nil, [][]int{{4, 8}}, false},
	{"a packed value and views of it are returned", `
a = torch.ops.aten.conv2d.default(x, self.w, None, [1, 1], [1, 1])
p = torch.ops.aten.adaptive_avg_pool2d.default(a, [3, 3])
d = torch.ops.aten.detach.default(p)
v = torch.ops.aten.transpose.int(p, 2, 3)
e = torch.ops.aten.alias.default(a)
return (a, p, d, v, e)`, map[string][]int{"w": {8, 8, 3, 3}}, [][]int{{2, 8, 6, 6}}, false},
	{"a packed value and its own copy in rows are returned", `
a = torch.ops.aten.conv2d.default(x, self.w, None, [1, 1], [1, 1])
c = torch.ops.aten.contiguous.default(a)
return (a, c)`, map[string][]int{"w": {8, 8, 3, 3}}, [][]int{{2, 8, 6, 6}}, false},
	{"views of arguments and state are returned", `
a = torch.ops.aten.view.default(x, [4, 8])
b = torch.ops.aten.contiguous.default(x)
c = torch.ops.aten.alias.default(self.w)
d = torch.ops.aten.clone.default(self.w)
e = torch.ops.aten.t.default(self.w)
return (a, b, c, d, e)`, map[string][]int{"w": {8, 8}}, [][]int{{4, 8}}, false},
}

func cloned(t *testing.T, xs []*torch.Tensor) []*torch.Tensor {
	var out []*torch.Tensor
	for _, x := range xs {
		c, err := tensor("aten::clone", x)
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		out = append(out, c)
	}
	return out
}

// Programs that write, what they are given, their state or their own values, between the
// operators that rewrites bring together compute what they did, and write the same, by all
// rewrites at once and by each alone and by two.
func TestFrozenProgramsThatWrite(t *testing.T) {
	testenv.Libtorch(t)
	sets := [][]string{nil}
	for i, r := range rewrites {
		sets = append(sets, []string{r.Name})
		for _, second := range rewrites[:i] {
			sets = append(sets, []string{second.Name, r.Name})
		}
	}
	for _, c := range writing {
		t.Run(c.name, func(t *testing.T) {
			var inputs []*torch.Tensor
			for _, s := range c.inputs {
				inputs = append(inputs, randn(t, s...))
			}
			gm := aten(t, c.body, c.attrs, cloned(t, inputs)...)
			for _, n := range gm.Graph().Find(ir.GetAttr, ir.Path("again")) {
				require.NoError(t, n.SetTarget(ir.Path("k")))
				gm.DeleteAttr("again")
			}
			for _, only := range sets {
				c.freeze(t, gm, inputs, only)
			}
		})
	}
}

func (c *written) freeze(t *testing.T, gm *ir.GraphModule, inputs []*torch.Tensor, only []string) {
	first, ours := withState(t, gm), withState(t, gm)
	opts := []FreezeOption{WithChoices(Unmeasured())}
	if only != nil {
		opts = append(opts, OnlyRewrites(only...))
	}
	frozen, err := Freeze(t.Context(), ours, opts...)
	require.NoError(t, err, only)
	defer frozen.Close()
	plan, err := interpreter.Compile(frozen.Module)
	require.NoError(t, err)
	defer plan.Close()
	for run, r := range []interface {
		RunFlat(context.Context, []any) ([]any, error)
	}{plan, interpreter.New(frozen.Module), plan} {
		a, b := cloned(t, inputs), cloned(t, inputs)
		if c.twice {
			a[1], b[1] = a[0], b[0]
		}
		want, got := runModule(t, interpreter.New(first), a), runModule(t, r, b)
		require.Len(t, got, len(want))
		want, got = append(want, a...), append(got, b...)
		for path, v := range first.Attrs() {
			state, _ := ours.Attr(path)
			want, got = append(want, v.(*torch.Tensor)), append(got, state.(*torch.Tensor))
		}
		for i := range want {
			require.Equal(t, torch.Describe(want[i]), torch.Describe(got[i]), "%v", only)
			require.Equal(t, steps(want[i]), steps(got[i]), "%v", only)
			require.LessOrEqual(t, distance(t, want[i], got[i]), frozen.Report.Tolerance(), "%v, run %d, tensor %d\n%s\n%s", only, run, i, frozen.Report, frozen.Module.Graph())
			for k := range i {
				require.Equal(t, shares(t, want[k], want[i]), shares(t, got[k], got[i]), "%v, run %d: memory of tensors %d and %d\n%s", only, run, k, i, frozen.Module.Graph())
			}
		}
	}
}

func shares(t *testing.T, a, b *torch.Tensor) bool {
	x, err := a.Handle()
	require.NoError(t, err)
	y, err := b.Handle()
	require.NoError(t, err)
	return libtorch.IsAlias(x, y)
}

// withState is a module with attributes of its own.
func withState(t *testing.T, gm *ir.GraphModule) *ir.GraphModule {
	c := gm.Clone()
	for path, v := range gm.Attrs() {
		c.SetAttr(path, cloned(t, []*torch.Tensor{v.(*torch.Tensor)})[0])
	}
	return c
}
