package torchops

import "github.com/torchfx-go/torchfx/ir"

// lowrankBodies are torch._lowrank: factors of a matrix by random projections,
// algorithms 4.4 and 5.1 of Halko, Martinsson and Tropp.
func lowrankBodies() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{
		"svd_lowrank": func(f *frame) any {
			return f.lowrank(f.t("A"), f.arg("q"), f.arg("niter"), f.t("M"))
		},
		"pca_lowrank": pcaLowrank,
	}
}

func pcaLowrank(f *frame) any {
	a := f.t("A")
	shape := a.Shape()
	if len(shape) < 2 {
		f.fail(ir.ErrValue, "not enough values to unpack (expected 2, got %d)", len(shape))
	}
	m, n := shape[len(shape)-2], shape[len(shape)-1]
	q, niter := f.arg("q"), f.arg("niter")
	if q == nil {
		q = int64(min(6, m, n))
	} else if !f.holds(q, "ge", 0) || !f.holds(q, "le", min(m, n)) {
		f.fail(ir.ErrValue, "q(=%s) must be non-negative integer and not greater than min(m, n)=%d", textOf(q), min(m, n))
	}
	if !f.holds(niter, "ge", 0) {
		f.fail(ir.ErrValue, "niter(=%s) must be non-negative integer", textOf(niter))
	}
	switch {
	case !f.bool("center"):
		return f.lowrank(a, q, niter, nil)
	case a.Layout() != SparseCOO:
		return f.lowrank(f.tensor("sub.Tensor", a, f.tensor("mean.dim", a, []int{-2}, true)), q, niter, nil)
	case len(shape) != 2:
		f.fail(ir.ErrValue, "pca_lowrank input is expected to be 2-dimensional tensor")
	}
	dtype, device := Kw("dtype", floatingDType(a)), Kw("device", a.Device())
	c := f.tensor("div.Tensor", f.tensor("_sparse_sum.dim", a, []int{-2}), m)
	column := f.tensor("select.int", f.tensor("indices", c), 0, 0)
	indices := f.tensor("zeros", []int{2, f.sizeAt(column, 0)}, Kw("dtype", column.DType()), device, Kw("pin_memory", false))
	f.op("copy_", f.tensor("select.int", indices, 0, 0), column)
	ct := f.tensor("sparse_coo_tensor.indices_size", indices, f.tensor("values", c), []int{n, 1}, dtype, device)
	ones := f.tensor("ones", []int{1, m}, dtype, device, Kw("pin_memory", false))
	return f.lowrank(a, q, niter, f.tensor("mT", f.tensor("_sparse_mm", ct, ones)))
}

// floatingDType returns the dtype of a where it is a real floating one, else that
// of single precision.
func floatingDType(a *Tensor) DType {
	switch dt := a.DType(); dt {
	case Float16, Float32, Float64:
		return dt
	}
	return Float32
}

// mm is the matrix product; a is nil for the identity.
func (f *frame) mm(a, b *Tensor) *Tensor {
	switch {
	case a == nil:
		return b
	case a.Layout() == SparseCOO:
		return f.tensor("_sparse_mm", a, b)
	}
	return f.tensor("matmul", a, b)
}

// lowrank returns U, S and V of a - less, which may be nil, as q and niter may.
func (f *frame) lowrank(a *Tensor, q, niter any, less *Tensor) any {
	if q == nil {
		q = int64(6)
	}
	shape := a.Shape()
	if len(shape) < 2 {
		f.fail(ir.ErrValue, "not enough values to unpack (expected 2, got %d)", len(shape))
	}
	wide := shape[len(shape)-2] < shape[len(shape)-1]
	if less != nil {
		less = f.tensor("broadcast_to", less, shape)
	}
	if wide {
		a = f.tensor("mH", a)
		if less != nil {
			less = f.tensor("mH", less)
		}
	}
	basis := f.lowrankBasis(a, q, niter, less)
	b := f.mm(f.tensor("mH", basis), a)
	if less != nil {
		b = f.tensor("sub.Tensor", b, f.mm(f.tensor("mH", basis), less))
	}
	usv := f.tuple("linalg_svd", b, false)
	v := f.tensor("mH", usv[2])
	u := f.tensor("matmul", basis, usv[0])
	if wide {
		u, v = v, u
	}
	return ir.PyTuple{u, usv[1], v}
}

// lowrankBasis returns an orthonormal basis of about what a - less spans.
func (f *frame) lowrankBasis(a *Tensor, q, niter any, less *Tensor) *Tensor {
	if niter == nil {
		niter = int64(2)
	}
	dtype := a.DType()
	if !dtype.IsComplex() {
		dtype = floatingDType(a)
	}
	r := f.tensor("randn", int64(f.sizeAt(a, -1)), q, Kw("dtype", dtype), Kw("device", a.Device()))
	step := func(x *Tensor, adjoint bool) *Tensor {
		of := func(t *Tensor) *Tensor {
			if adjoint {
				t = f.tensor("mH", t)
			}
			return f.mm(t, x)
		}
		y := of(a)
		if less != nil {
			y = f.tensor("sub.Tensor", y, of(less))
		}
		return f.tuple("linalg_qr", y)[0].(*Tensor)
	}
	basis := step(r, false)
	times, err := indexNumber(f.mode, niter)
	mustNot(f.of.target.Name(), err)
	for range times {
		basis = step(step(basis, true), false)
	}
	return basis
}
