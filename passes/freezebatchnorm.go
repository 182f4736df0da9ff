package passes

import (
	torch "github.com/torchfx-go/torchfx/torchops"
)

// foldBatchNorm folds batch norms as [FoldBatchNorm] does.
func (f *freezer) foldBatchNorm() error {
	p := &batchNormFolder{module: f.module, graph: f.graph, report: &BatchNormReport{}, dropped: f.forget}
	err := p.run(f.ctx)
	for _, fold := range p.report.Folds {
		for _, path := range []string{fold.Weight, fold.Bias} {
			if v, ok := f.module.Attr(path); ok {
				f.owned = append(f.owned, v.(*torch.Tensor))
			}
		}
		if layer := f.graph.Lookup(fold.Layer); layer != nil {
			f.applied(layer, "%s folded into it", fold.Norm)
		}
	}
	for _, kept := range p.report.Kept {
		if n := f.graph.Lookup(kept.Norm); n != nil {
			f.kept(n, "%s", kept.Why)
		}
	}
	return err
}
