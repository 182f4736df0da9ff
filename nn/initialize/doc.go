// Package initialize is torch.nn.init: it fills the parameters of a model.
//
//	for _, m := range nn.Modules(net) {
//		if conv, ok := m.(*nn.Conv2d); ok {
//			initialize.KaimingNormal(conv.Weight, 0, initialize.FanOut, "relu")
//		}
//	}
//
// Under the same seed the elements are PyTorch's to the bit. They come from the
// process's generator, see torch.ManualSeed, or from one of the caller's, given as
// torch.Kw("generator", g).
//
// The functions write into a real tensor and record nothing. As all of model code
// they panic with a *torch.Error, which torch.Try returns.
package initialize
