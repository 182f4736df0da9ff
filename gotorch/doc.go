//go:build gotorch

// Package gotorch exchanges tensors with github.com/wangkuiyi/gotorch and turns
// its modules into graphs. It is built with the tag gotorch and its own native
// step, so that nobody else pays for it.
//
// State: the signatures stand; every function answers with an error wrapping
// [ir.ErrUnsupported].
package gotorch

import (
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// From returns a tensor that shares the memory of a gotorch tensor. The result
// holds its own reference and is the caller's to close.
func From(t any) (*torch.Tensor, error) { return nil, notBuilt("from gotorch") }

// To returns a gotorch.Tensor that shares the memory of t. The result holds its
// own reference, which gotorch frees by its rules.
func To(t *torch.Tensor) (any, error) { return nil, notBuilt("to gotorch") }

// Trace runs a gotorch module on inputs and returns what it computed as a graph.
func Trace(module any, inputs ...*torch.Tensor) (*ir.GraphModule, error) {
	return nil, notBuilt("trace")
}

func notBuilt(what string) error {
	return ir.Errorf(ir.ErrUnsupported, "gotorch: %s is not built yet", what)
}
