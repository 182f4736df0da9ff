package torchfx

import (
	"fmt"
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/rewriter"
	"github.com/torchfx-go/torchfx/tracer"
)

// SymbolicTrace traces root, an nn.Module or a Go function, and returns its graph
// with the attributes that the graph names. See package tracer for what a trace
// sees. Follows torch.fx.symbolic_trace.
func SymbolicTrace(root any, opts ...tracer.Option) (*ir.GraphModule, error) {
	return tracer.SymbolicTrace(root, opts...)
}

// ReplacePattern replaces every place in gm where pattern stands by replacement,
// and returns the matches in program order. Pattern and replacement are each a Go
// function or an nn.Module, which are traced, an *ir.Graph, an *ir.GraphModule, or
// a string of Python code as ir.ParseCode reads it. Their parameters correspond by
// position, and so do their results. Follows torch.fx.replace_pattern; package
// rewriter has the rules.
func ReplacePattern(gm *ir.GraphModule, pattern, replacement any) ([]rewriter.Match, error) {
	replaced, err := ReplacePatternWithFilters(gm, pattern, replacement)
	matches := make([]rewriter.Match, len(replaced))
	for i, r := range replaced {
		matches[i] = r.Match
	}
	return matches, err
}

// ReplacePatternWithFilters is [ReplacePattern] with options, and tells which
// nodes were made and removed. replacement may be nil where rewriter.WithFunc
// makes one for each match. Follows
// torch.fx.subgraph_rewriter.replace_pattern_with_filters.
func ReplacePatternWithFilters(gm *ir.GraphModule, pattern, replacement any, opts ...rewriter.Option) ([]rewriter.Replaced, error) {
	if gm == nil {
		return nil, ir.Errorf(ir.ErrInput, "replace: expected a graph module, got nil")
	}
	p, err := traced(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if replacement != nil {
		r, err := traced(replacement)
		if err != nil {
			return nil, fmt.Errorf("replacement: %w", err)
		}
		if g, ok := r.(*ir.Graph); ok && r != replacement {
			if err := renameConstants(g, gm); err != nil {
				return nil, err
			}
		}
		opts = append(opts[:len(opts):len(opts)], rewriter.With(r))
	}
	return rewriter.Replace(gm, p, opts...)
}

// traced turns a function into its graph and a model into a graph module, and
// passes on what package rewriter takes as it is.
func traced(v any) (any, error) {
	switch v.(type) {
	case *ir.Graph, *ir.GraphModule, string, nil:
		return v, nil
	}
	gm, err := tracer.SymbolicTrace(v)
	if err != nil {
		return nil, err
	}
	if reflect.TypeOf(v).Kind() == reflect.Func {
		return gm.Graph(), nil
	}
	return gm, nil
}

// renameConstants gives the tensors that a traced function brings names that gm
// does not have: each trace begins with _tensor_constant0, and a name that gm has
// already would mean gm's tensor.
func renameConstants(g *ir.Graph, gm *ir.GraphModule) error {
	renamed := map[string]string{}
	taken := func(path string) bool {
		_, here := gm.Attr(path)
		_, there := g.Owner().Attr(path)
		return here || there
	}
	for n := range g.Nodes() {
		path := n.Target().String()
		if _, conflict := gm.Attr(path); n.Op() != ir.GetAttr || !conflict {
			continue
		}
		if renamed[path] == "" {
			fresh := path
			for i := 0; taken(fresh); i++ {
				fresh = fmt.Sprintf("_tensor_constant%d", i)
			}
			v, _ := g.Owner().Attr(path)
			g.Owner().SetAttr(fresh, v)
			renamed[path] = fresh
		}
		if err := n.SetTarget(ir.Path(renamed[path])); err != nil {
			return err
		}
	}
	return nil
}
