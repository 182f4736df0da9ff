// Package export reads the files that hold PyTorch programs and tensors, and
// writes tensors: .pt2 programs of torch.export, safetensors, NumPy's .npy and
// .npz. It needs no libtorch, and nothing in a file is ever executed.
//
// [Open] finds out what a file is by its content, checks all of it, and returns
// a [Program]:
//
//	p, err := export.Open("model.pt2")
//	if err != nil {
//		return err // everything that is wrong with the file, at once
//	}
//	defer p.Close()
//	fmt.Print(p.Graph)        // the lifted graph: weights are placeholders
//	m, err := p.Module()      // the graph to call: weights are attributes
//
// # The way of the data
//
// A container is found out and opened (archive, detect), its records are read
// (payload: weights, configs), the program's JSON is decoded (jsontext, decode…)
// and built into graphs (build, call), and graph, signature and weights are
// brought together (link) with the conditions on inputs (guards). Each step
// notes what is wrong and goes on, so that one error tells everything.
//
// # What is read
//
// Programs of torch 2.9 and later: one root folder, JSON of schema 8, weights as
// raw payloads. Flat archives (torch 2.1 to 2.7), archives with pickled weights
// (torch 2.8), torch.save and TorchScript files and AOTInductor packages are
// recognised and refused by name.
//
// # Trust
//
// Files are hostile until proven otherwise: sizes, offsets, counts, nesting and
// names are bounded before they are believed; symbolic expressions and guards,
// which Python compiles and runs, are parsed by a small grammar or kept as text;
// pickles are not opened. See [Open] for what stays the caller's: a mapped file
// must not be truncated.
//
// # Lifetimes
//
// The weights of an open file are mapped copy-on-write. [Program.Close] gives
// the mapping up; it goes when the last [Storage.Hold] is released.
package export
