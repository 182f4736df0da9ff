package passes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// pcieBandwidth is what a preview takes for the way to the accelerator, in bytes a
// second.
const pcieBandwidth = 100 << 30

// SupportPreview lists which targets the accelerator takes, and with which dtypes of
// arguments: the text of torch.fx's node_support_preview, its lines in the order of
// first appearance.
func (s *AcceleratorSplitter) SupportPreview() string {
	var taken, rest []string
	for n := range s.module.Graph().Nodes() {
		if !isCall(n) {
			continue
		}
		line := fmt.Sprintf("%s: (%s, {%s})", TargetName(s.module, n), argDTypes(n), kwargDTypes(n))
		list := &rest
		if s.support.Supported(s.module, n) {
			list = &taken
		}
		if !slices.Contains(*list, line) {
			*list = append(*list, line)
		}
	}
	var b strings.Builder
	b.WriteString("\nSupported node types in the model:\n")
	for _, l := range taken {
		b.WriteString(l + "\n")
	}
	b.WriteString("\nUnsupported node types in the model:\n")
	for _, l := range rest {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// argDTypes is a tuple of the dtypes of positional arguments, without what is no
// tensor at the end.
func argDTypes(n *ir.Node) string {
	var items []string
	for i, a := range n.Args() {
		in, ok := a.(*ir.Node)
		if !ok {
			continue
		}
		if m, ok := in.Meta().Get(ir.MetaTensorMeta).(ir.TensorMeta); ok {
			for len(items) < i {
				items = append(items, "None")
			}
			items = append(items, m.DType.String())
		}
	}
	if len(items) == 1 {
		return "(" + items[0] + ",)"
	}
	return "(" + strings.Join(items, ", ") + ")"
}

func kwargDTypes(n *ir.Node) string {
	var items []string
	for _, k := range n.Kwargs() {
		in, ok := k.Value.(*ir.Node)
		if !ok {
			continue
		}
		dtype := "None"
		if m, ok := in.Meta().Get(ir.MetaTensorMeta).(ir.TensorMeta); ok {
			dtype = m.DType.String()
		}
		items = append(items, ir.Repr(ir.Str(k.Name))+": "+dtype)
	}
	return strings.Join(items, ", ")
}

// Preview splits, runs each part of the accelerator by the interpreter on what it
// gets when the whole is run on the sample, and tells how many parts there are, what
// goes in and out of them, and how often a second the way to the accelerator allows
// that: the text of torch.fx's split_preview.
func (s *AcceleratorSplitter) Preview(ctx context.Context) (string, error) {
	parts, err := s.Parts()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	count := func(when string) {
		acc := 0
		for _, p := range parts {
			if p.Accelerator {
				acc++
			}
		}
		fmt.Fprintf(&b, "%s removing small acc subgraphs, total %d subgraphs are created: %d acc subgraphs and %d cpu subgraphs.\n",
			when, len(parts), acc, len(parts)-acc)
	}
	count("Before")
	parts = s.joinSmall(parts)
	count("After")
	for i, p := range parts {
		name := s.prefix
		if p.Accelerator {
			name = "_run_on_acc_"
		}
		fmt.Fprintf(&b, "%s%d: %d node(s)\n", name, i, len(p.Nodes))
	}
	split, err := s.split(parts)
	if err != nil {
		return "", err
	}
	best, bottleneck := float64(pcieBandwidth), ""
	text := ir.Repr(ir.Int(pcieBandwidth))
	for _, p := range split.Parts {
		if !strings.Contains(p.Name, "acc") {
			continue
		}
		rate, err := s.previewPart(ctx, &b, split.Module, p)
		if err != nil {
			return "", err
		}
		if rate < best {
			best, bottleneck, text = rate, p.Name, ir.Repr(ir.Float(rate))
		}
	}
	fmt.Fprintf(&b, "\nTheoretical max qps (bounds by PCIe bandwidth) for this model is %s, bottleneck is submodule %s.",
		text, bottleneck)
	return b.String(), nil
}

func (s *AcceleratorSplitter) previewPart(ctx context.Context, b *strings.Builder, main *ir.GraphModule, p Part) (float64, error) {
	fmt.Fprintf(b, "\nProcessing acc submodule %s\n", p.Name)
	all, err := SubmoduleInputs(ctx, main, s.sample, p.Name)
	if err != nil {
		return 0, err
	}
	inputs := all[p.Name]
	defer func() { discard(inputs, nil) }()
	out, err := ShapeProp(ctx, p.Module, inputs)
	if err != nil {
		return 0, err
	}
	discard(out, inputs)
	bytes := func(kind string, nodes []*ir.Node) (total int64) {
		fmt.Fprintf(b, "Checking %ss...\n", strings.ToLower(kind))
		for _, n := range nodes {
			size, err := SizeOfNode(p.Module, n)
			if !OutputsTensor(n) || err != nil {
				fmt.Fprintf(b, "%s %s is not a tensor, this might cause problems during lowering!\n", kind, n)
				continue
			}
			total += size.Output
		}
		return total
	}
	in := bytes("Input", p.Module.Graph().Find(ir.Placeholder, nil))
	result := bytes("Output", p.Module.Graph().Last().Inputs())
	rate := float64(pcieBandwidth)
	if most := max(in, result); most > 0 {
		rate /= float64(most)
	}
	fmt.Fprintf(b, "Total input size in bytes is %d, total output size in bytes is %d, theoretical max qps (bounds by PCIe bandwidth) for this submodule is %s.\n",
		in, result, ir.Repr(ir.Float(rate)))
	if out, err = interpreter.New(p.Module).Run(ctx, inputs...); err != nil {
		fmt.Fprintf(b, "Run into an error during inference!\n%v\n", err)
		return rate, nil
	}
	discard(out, inputs)
	b.WriteString("Lowering and running succeed!\n")
	return rate, nil
}
