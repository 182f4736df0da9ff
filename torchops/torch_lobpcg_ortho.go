package torchops

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

// orthogonal returns directions like u, orthonormal to each other and orthogonal
// to v, with respect to b. Algorithm 4 of Duersch and others.
func (w *lobpcg) orthogonal(u, v *Tensor) *Tensor {
	norm := func(t *Tensor) *Tensor { return w.tensor("linalg_vector_norm", t) }
	bvNorm := norm(w.mm(w.b, v))
	bu := w.mm(w.b, u)
	vbu := w.mm(w.mT(v), bu)
	for range w.iMax {
		u = w.tensor("sub.Tensor", u, w.mm(v, vbu))
		drop, tau := false, w.dropTol
		for range w.jMax {
			if w.drop {
				u = w.svqb(u, drop, tau)
				drop, tau = true, w.replacement
			} else {
				u = w.svqb(u, false, w.replacement)
			}
			if u.Numel() == 0 {
				return u
			}
			bu = w.mm(w.b, u)
			ubu := w.mm(w.mT(u), bu)
			uNorm, buNorm := norm(u), norm(bu)
			eye := w.tensor("eye", w.sizeAt(ubu, -1), Kw("device", ubu.Device()), Kw("dtype", ubu.DType()), Kw("pin_memory", false))
			rNorm := norm(w.tensor("sub.Tensor", ubu, eye))
			if w.number(rNorm)*math.Pow(w.number(w.mul(buNorm, uNorm)), -1) < w.orthoTol {
				break
			}
		}
		vbu = w.mm(w.mT(v), bu)
		vbuNorm, uNorm := norm(vbu), norm(u)
		if w.number(vbuNorm)*math.Pow(w.number(w.mul(bvNorm, uNorm)), -1) < w.orthoTol {
			break
		}
		if rows := w.sizeAt(u, -1) + w.sizeAt(v, -1); w.m < rows {
			w.assert(w.b != nil, "B must not be None")
			w.fail(ir.ErrValue, "Overdetermined shape of U: #B-cols(=%d) >= #U-cols(=%d) + #V-cols(=%d) must hold", w.sizeAt(w.b, -1), w.sizeAt(u, -1), w.sizeAt(v, -1))
		}
	}
	return u
}

// svqb returns an orthonormal basis of u with respect to b. Directions that are
// too short are left out where drop is set and else made longer.
func (w *lobpcg) svqb(u *Tensor, drop bool, tau float64) *Tensor {
	if u.Numel() == 0 {
		return u
	}
	ubu := w.qform(w.b, u)
	d := w.tensor("diagonal", ubu, 0, -2, -1)
	nonzero := w.nonzero(d)
	if w.sizeAt(nonzero, 0) < w.sizeAt(d, 0) {
		if u = w.tensor("index.Tensor", u, []any{nil, nonzero}); u.Numel() == 0 {
			return u
		}
		ubu = w.qform(w.b, u)
		d = w.tensor("diagonal", ubu, 0, -2, -1)
		left := w.sizeAt(w.nonzero(d), 0)
		w.assert(left == w.sizeAt(d, 0), "expected nz[0] length %d, got %d", w.sizeAt(d, 0), left)
	}
	column := w.tensor("reshape", w.tensor("pow.Tensor_Scalar", d, -0.5), []int{w.sizeAt(d, 0), 1})
	e, z := w.symeig(w.mul(w.mul(ubu, column), w.mT(column)), false)
	t := w.tensor("mul.Tensor", w.tensor("max", w.tensor("abs", e)), tau)
	if drop {
		keep := w.tuple("where", w.tensor("gt.Tensor", e, t))[0]
		e = w.tensor("index.Tensor", e, []any{keep})
		z = w.tensor("index.Tensor", z, []any{nil, keep})
		column = w.tensor("index.Tensor", column, []any{keep})
	} else {
		short := w.tuple("where", w.tensor("lt.Tensor", e, t))[0]
		w.op("index_put_", e, []any{short}, t)
	}
	return w.mm(w.mul(u, w.mT(column)), w.mul(z, w.tensor("pow.Tensor_Scalar", e, -0.5)))
}

func (w *lobpcg) nonzero(d *Tensor) *Tensor {
	return w.tuple("where", w.tensor("ne.Scalar", w.tensor("abs", d), 0.0))[0].(*Tensor)
}
