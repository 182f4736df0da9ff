// Package script opens what only libtorch itself can open: TorchScript files, which
// torch.jit.save wrote. PyTorch has deprecated them; this is the bridge for models
// that exist in no other form.
//
//	m, err := script.Open("model.pt", ir.Device{})
//	fmt.Println(m.Signature("forward"))               // forward(Tensor x) -> Tensor
//	out, err := m.Run(ctx, "forward", x)
//	gm, err := m.Translate("forward")                 // a graph of its code, to rewrite
//	gm, err := m.Graph(tracer.Recording{}, x)         // a graph of a run, to save as .pt2
//
// [OpenPackage] runs what AOTInductor compiled, by libtorch's loader: machine code, with
// no graph to see or rewrite.
package script
