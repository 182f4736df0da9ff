// Package torchfxdoc has no code: its examples are those of torch.fx's
// documentation, in its order, written in Go. The page docs/torch-fx.md leads
// through them.
package torchfxdoc
