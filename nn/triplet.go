package nn

import (
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn/functional"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// TripletMarginWithDistanceLoss is torch.nn.TripletMarginWithDistanceLoss(
// distance_function=None, margin=1.0, swap=False, reduction='mean').
// distance_function is a functional.Distance or a module of two tensors and one
// result; without it a PairwiseDistance.
type TripletMarginWithDistanceLoss struct {
	leaf
	DistanceFunction Module // nil where it is a Go function
}

// NewTripletMarginWithDistanceLoss makes the loss; all its arguments are options.
func NewTripletMarginWithDistanceLoss(options ...Option) *TripletMarginWithDistanceLoss {
	return build(new(TripletMarginWithDistanceLoss), nil, options)
}

// Forward calls the loss.
func (m *TripletMarginWithDistanceLoss) Forward(anchor, positive, negative *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, anchor, positive, negative))
}

// distance is what a module has to be to serve as a distance.
type distance = Of2[*torch.Tensor, *torch.Tensor, *torch.Tensor]

func initDistance(b *builder) {
	m := b.m.(*TripletMarginWithDistanceLoss)
	switch d := b.attr("distance_function").(type) {
	case ir.None:
		m.DistanceFunction = NewPairwiseDistance()
	case distance:
		m.DistanceFunction = d
	case functional.Distance:
	default:
		b.fail(ir.ErrType, "distance_function: expected a function or a module of two tensors, got %T", d)
	}
	if margin := b.attr("margin").(ir.Arg); number(margin) <= 0 {
		b.fail(ir.ErrValue, "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got %s instead", ir.Repr(margin))
	}
}

func tripletWithDistance(f *frame) any {
	args := []any{f.in("anchor"), f.in("positive"), f.in("negative")}
	d := f.self("distance_function")
	if m, ok := f.m.(*TripletMarginWithDistanceLoss).DistanceFunction.(distance); ok {
		d = func(x, y *torch.Tensor) *torch.Tensor { return Call2(m, x, y) }
		if torch.Traced(args...) {
			d = m
		}
	}
	return functional.Call("triplet_margin_with_distance_loss", args, []torch.Kwarg{
		torch.Kw("distance_function", d), torch.Kw("margin", f.self("margin")), torch.Kw("swap", f.self("swap")), torch.Kw("reduction", f.self("reduction")),
	})
}
