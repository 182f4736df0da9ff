package torchops

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

// lobpcgBodies are torch._lobpcg: eigenpairs of a large symmetric matrix by
// locally optimal block preconditioned conjugate gradients, in the steps of
// PyTorch's implementation and in its names.
func lobpcgBodies() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{"lobpcg": lobpcgBody}
}

// A lobpcg is the state of one solution.
type lobpcg struct {
	*frame
	a, b, ik, x, e, r, s           *Tensor
	m, n, k                        int
	iterations, converged, end     int // end is how many columns of s are in use
	step                           int
	tol, aNorm, bNorm              float64
	largest, ortho, drop           bool
	iMax, jMax                     int
	orthoTol, dropTol, replacement float64
}

func lobpcgBody(f *frame) any {
	a, b, x := f.t("A"), f.t("B"), f.t("X")
	shape := a.Shape()
	rank := len(shape)
	f.assert(rank >= 2 && shape[rank-2] == shape[rank-1], "A must be square, got shape %s", sizeText(shape))
	if b != nil {
		f.assert(sameShape(a, b), "A and B must have same shape, got %s vs %s", sizeText(shape), sizeText(b.Shape()))
	}
	if f.given("tracker") {
		f.fail(ir.ErrUnsupported, "lobpcg: a tracker is not there")
	}
	w := f.newLobpcg(shape[rank-1], floatingDType(a))
	like := []any{Kw("dtype", floatingDType(a)), Kw("device", a.Device()), Kw("pin_memory", false)}
	random := func() *Tensor { return f.tensor("randn", append([]any{[]int{w.m, w.n}}, like...)...) }
	if rank == 2 {
		if x == nil {
			x = random()
		}
		w.start(a, b, x)
		return ir.PyTuple{w.columns(w.e, 0, w.k, 0), w.columns(w.x, 0, w.k, 1)}
	}
	batch := product(shape[:rank-2])
	flat := func(t *Tensor) *Tensor {
		if t == nil {
			return nil
		}
		return f.tensor("reshape", t, append([]int{batch}, t.Shape()[t.Dim()-2:]...))
	}
	at := func(t *Tensor, i int) *Tensor {
		if t == nil {
			return nil
		}
		return f.tensor("select.int", t, 0, i)
	}
	as, bs, xs := flat(a), flat(b), flat(x)
	e := f.tensor("empty.memory_format", append([]any{[]int{batch, w.k}}, like...)...)
	v := f.tensor("empty.memory_format", append([]any{[]int{batch, w.m, w.k}}, like...)...)
	for i := range batch {
		xi := at(xs, i)
		if xi == nil {
			xi = random()
		}
		w.start(at(as, i), at(bs, i), xi)
		f.op("copy_", at(e, i), w.columns(w.e, 0, w.k, 0))
		f.op("copy_", at(v, i), w.columns(w.x, 0, w.k, 1))
	}
	outer := shape[: rank-2 : rank-2]
	return ir.PyTuple{f.op("reshape", e, append(outer, w.k)), f.op("reshape", v, append(outer, w.m, w.k))}
}

// newLobpcg reads the parameters.
func (f *frame) newLobpcg(m int, dtype DType) *lobpcg {
	w := &lobpcg{frame: f, m: m, ik: f.t("iK"), largest: true, ortho: true, iMax: 3, jMax: 3, k: 1, iterations: 1000}
	if x := f.t("X"); x != nil {
		w.k = f.sizeAt(x, -1)
	}
	if f.given("k") {
		w.k = f.int("k")
	}
	w.n = w.k
	if f.given("n") {
		w.n = f.int("n")
	}
	if x := f.t("X"); x != nil {
		w.n = f.sizeAt(x, -1)
	}
	w.tol = math.Sqrt(map[DType]float64{Float32: 1.2e-07, Float64: 2.23e-16}[dtype])
	if f.given("tol") {
		w.tol = f.float("tol")
	} else if dtype == Float16 {
		f.fail(ir.ErrKey, "torch.float16")
	}
	if m < 3*w.n {
		f.fail(ir.ErrValue, "LOBPCG algorithm is not applicable when the number of A rows (=%d) is smaller than 3 x the number of requested eigenpairs (=%d)", m, w.n)
	}
	if f.given("niter") {
		w.iterations = f.int("niter")
	}
	if f.given("largest") {
		w.largest = f.bool("largest")
	}
	if f.given("method") {
		w.ortho = f.string("method") == "ortho"
	}
	w.orthoTol, w.dropTol, w.replacement = w.tol, w.tol, w.tol
	if w.ortho {
		w.option("ortho_iparams", "ortho_i_max", func(v any) { w.iMax = f.asInt("ortho_iparams", v) })
		w.option("ortho_iparams", "ortho_j_max", func(v any) { w.jMax = f.asInt("ortho_iparams", v) })
		w.option("ortho_fparams", "ortho_tol", func(v any) { w.orthoTol = asFloat(v) })
		w.option("ortho_fparams", "ortho_tol_drop", func(v any) { w.dropTol = asFloat(v) })
		w.option("ortho_fparams", "ortho_tol_replace", func(v any) { w.replacement = asFloat(v) })
		w.option("ortho_bparams", "ortho_use_drop", func(v any) { w.drop = truth(v) })
	}
	return w
}

// option reads an entry of a dict of parameters.
func (w *lobpcg) option(dict, key string, set func(v any)) {
	d, ok := w.arg(dict).(*ir.PyDict)
	if !ok {
		return
	}
	if v, ok := d.Get(key); ok {
		set(v)
	}
}

// start solves one problem from x on.
func (w *lobpcg) start(a, b, x *Tensor) {
	w.assert(x.Dim() == 2 && x.Shape()[0] == w.m && x.Shape()[1] == w.n, "X shape mismatch: got %s, expected %s", sizeText(x.Shape()), tupleText([]int{w.m, w.n}))
	zeros := func(size ...int) *Tensor {
		return w.tensor("zeros", size, Kw("dtype", x.DType()), Kw("device", x.Device()), Kw("pin_memory", false))
	}
	w.a, w.b, w.x = a, b, x
	w.e, w.r, w.s = zeros(w.n), zeros(w.m, w.n), zeros(w.m, 3*w.n)
	w.step, w.converged, w.end = 0, 0, 0
	left := w.iterations
	if xNorm := w.norm(w.x); true {
		inverse := math.Pow(xNorm, -1)
		w.aNorm = w.norm(w.mm(w.a, w.x)) * inverse
		w.bNorm = w.norm(w.mm(w.b, w.x)) * inverse
	}
	for {
		mark := len(w.made)
		if w.ortho {
			w.updateOrtho()
		} else {
			w.updateBasic()
		}
		w.forget(mark)
		left--
		w.step++
		if left == 0 || w.converged >= w.k {
			return
		}
	}
}

// forget closes what a step made but for the state.
func (w *lobpcg) forget(mark int) {
	kept := w.made[:mark]
	for _, t := range w.made[mark:] {
		if t == w.x || t == w.e || t == w.r || t == w.s {
			kept = append(kept, t)
		} else {
			_ = t.Close() // an error here means that it is closed already
		}
	}
	w.made = kept
}

func (w *lobpcg) norm(t *Tensor) float64 { return w.number(w.tensor("linalg_vector_norm", t)) }

func (w *lobpcg) number(t *Tensor) float64 { return asFloat(w.item(t)) }

// columns is t[..., from:to] along a dimension.
func (w *lobpcg) columns(t *Tensor, from, to, dim int) *Tensor {
	return w.tensor("slice.Tensor", t, dim, from, to)
}

func (w *lobpcg) mT(t *Tensor) *Tensor { return w.tensor("mT", t) }

func (w *lobpcg) mul(x, y *Tensor) *Tensor { return w.tensor("mul.Tensor", x, y) }

// qform is s' a s.
func (w *lobpcg) qform(a, s *Tensor) *Tensor { return w.mm(w.mT(s), w.mm(a, s)) }

// symeig returns eigenvalues and eigenvectors in the order that is asked for.
func (w *lobpcg) symeig(a *Tensor, largest bool) (e, z *Tensor) {
	pair := w.tuple("linalg_eigh", a, "U")
	e, z = pair[0].(*Tensor), pair[1].(*Tensor)
	if largest {
		e, z = w.tensor("flip", e, []int{-1}), w.tensor("flip", z, []int{-1})
	}
	return e, z
}

func (w *lobpcg) assign(to, from *Tensor) { w.op("copy_", to, from) }

func (w *lobpcg) updateResidual() {
	w.r = w.tensor("sub.Tensor", w.mm(w.a, w.x), w.mul(w.mm(w.b, w.x), w.e))
}

// updateConverged counts the eigenpairs at the front that are good enough.
func (w *lobpcg) updateConverged() {
	norms := func(t *Tensor) *Tensor { return w.tensor("linalg_vector_norm", t, 2, []int{0}) }
	e := w.tensor("abs", w.columns(w.e, 0, w.sizeAt(w.x, -1), 0))
	scale := w.tensor("add.Tensor", w.tensor("mul.Tensor", e, w.bNorm), w.aNorm)
	relative := w.tensor("div.Tensor", norms(w.r), w.mul(norms(w.x), scale))
	done, err := Data[bool](w.tensor("lt.Scalar", relative, w.tol))
	mustNot(w.of.name, err)
	count := 0
	for count < len(done) && done[count] {
		count++
	}
	w.assert(count >= w.converged, "the number of converged eigenpairs (was %d, got %d) cannot decrease", w.converged, count)
	w.converged = count
}

func (w *lobpcg) updateBasic() {
	n := w.n
	before := w.converged
	np := 0
	var p *Tensor
	if w.step == 0 {
		ri := w.rayleighRitz(w.x)
		e, z := w.symeig(w.qform(w.qform(w.a, w.x), ri), w.largest)
		w.assign(w.x, w.mm(w.x, w.mm(ri, z)))
		w.assign(w.e, e)
	} else {
		s := w.columns(w.s, before, w.end, 1)
		ri := w.rayleighRitz(s)
		e, z := w.symeig(w.qform(w.qform(w.a, s), ri), w.largest)
		w.assign(w.columns(w.x, before, math.MaxInt64, 1), w.mm(s, w.mm(ri, w.columns(z, 0, n-before, 1))))
		w.assign(w.columns(w.e, before, math.MaxInt64, 0), w.columns(e, 0, n-before, 0))
		p = w.mm(s, w.mm(ri, w.columns(z, n, 2*n-before, 1)))
		np = w.sizeAt(p, -1)
	}
	w.updateResidual()
	w.updateConverged()
	w.assign(w.columns(w.s, 0, n, -1), w.x)
	r := w.r
	if w.step > 0 {
		w.assign(w.columns(w.s, n, n+np, 1), p)
		r = w.columns(w.r, w.converged, math.MaxInt64, 1)
	}
	w.extend(n+np, w.mm(w.ik, r))
}

// extend puts new directions behind the columns in use.
func (w *lobpcg) extend(from int, directions *Tensor) {
	w.end = from + w.sizeAt(directions, -1)
	w.assign(w.columns(w.s, from, w.end, 1), directions)
}

func (w *lobpcg) updateOrtho() {
	n := w.n
	before := w.converged
	if w.step == 0 {
		ri := w.rayleighRitz(w.x)
		_, z := w.symeig(w.qform(w.qform(w.a, w.x), ri), w.largest)
		w.x = w.mm(w.x, w.mm(ri, z))
		w.updateResidual()
		w.updateConverged()
		w.assign(w.columns(w.s, 0, n, 1), w.x)
		w.extend(n, w.orthogonal(w.r, w.x))
		return
	}
	s := w.columns(w.s, before, w.end, 1)
	e, z := w.symeig(w.qform(w.a, s), w.largest)
	w.assign(w.columns(w.x, before, math.MaxInt64, 1), w.mm(s, w.columns(z, 0, n-before, 1)))
	w.assign(w.columns(w.e, before, math.MaxInt64, 0), w.columns(e, 0, n-before, 0))
	rest := w.columns(z, n-before, math.MaxInt64, 1)
	corner := w.columns(w.columns(z, 0, n-before, 0), n-before, math.MaxInt64, 1)
	basis := w.tuple("linalg_qr", w.mT(corner))[0].(*Tensor)
	p := w.mm(s, w.mm(rest, basis))
	np := w.sizeAt(p, -1)
	w.updateResidual()
	w.updateConverged()
	w.assign(w.columns(w.s, 0, n, 1), w.x)
	w.assign(w.columns(w.s, n, n+np, 1), p)
	w.extend(n+np, w.orthogonal(w.columns(w.r, w.converged, math.MaxInt64, 1), w.columns(w.s, 0, n+np, 1)))
}

// rayleighRitz returns a matrix that makes s orthonormal with respect to b.
func (w *lobpcg) rayleighRitz(s *Tensor) *Tensor {
	sbs := w.qform(w.b, s)
	row := w.tensor("pow.Tensor_Scalar", w.tensor("diagonal", sbs, 0, -2, -1), -0.5)
	column := w.tensor("reshape", row, []int{w.sizeAt(row, 0), 1})
	r := w.tensor("linalg_cholesky", w.mul(w.mul(sbs, row), column), Kw("upper", true))
	return w.tensor("linalg_solve_triangular", r, w.tensor("diag_embed", row), Kw("upper", true), Kw("left", false))
}
