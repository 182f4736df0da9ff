// Package export reads and writes the files that hold PyTorch programs and tensors:
// .pt2 programs of torch.export, files of torch.save, safetensors, NumPy's .npy and
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
// [OpenTorchSave] reads what torch.save wrote: a state dict, a checkpoint, or
// other tensors in containers.
//
// # The way of the data
//
// A container is found out and opened (archive, detect), its records are read
// (payload: weights, configs; flat: pickled weights), the program's JSON is decoded (jsontext, decode…)
// and built into graphs (build, call), and graph, signature and weights are
// brought together (link) with the conditions on inputs (guards). Each step
// notes what is wrong and goes on, so that one error tells everything.
//
// The other way, [Lift] makes a program of a module, [Save] and [Write] make an
// archive of programs: first everything is encoded (encode…, write: configs and
// records), so that what cannot be written is known, then the records are written
// (zipwrite, atomic).
//
// # What is read
//
// Programs come in three generations of archives: flat ones (torch 2.5 to 2.7,
// JSON of schema 7 and 8), one root folder with files of torch.save inside
// (torch 2.8), one root folder with raw payloads (torch 2.9 and later). All of
// them make the same [Program]; what a generation leaves out, such as the texts of
// guards before 2.9, follows from what it has. Operators changed, too: arguments
// that are called otherwise now, and operators that another one took the place of,
// are taken over, and what is not here is reported with the releases that have it
// (history, upgrade). Programs of torch 2.4 and older,
// TorchScript files and AOTInductor packages are recognised and refused by name.
//
// Files of torch.save are read as torch.load(weights_only=True) reads them, those
// from before torch 1.6 too. Whole modules in them are read as data: the graph of a
// torch.fx.GraphModule from its code, layers of torch.nn from their attributes.
//
// # What is written
//
// Programs are written as torch 2.15 writes them, whatever generation they came
// from, for torch.export.load to open. A program that was read and not changed loads
// to an equal program; fields that a later minor version of the schema added are in it
// where they were (further). See [Save] for what is refused.
//
// # Trust
//
// Files are hostile until proven otherwise: sizes, offsets, counts, nesting and
// names are bounded before they are believed; symbolic expressions and guards,
// which Python compiles and runs, are parsed by a small grammar or kept as text;
// pickles are read by a machine that knows a fixed list of operations and classes
// and calls nothing; sample inputs are never opened. See [Open] for what stays the caller's: a mapped file
// must not be truncated.
//
// # Lifetimes
//
// The weights of an open file are mapped copy-on-write; those that are not aligned in
// it, as zip tools other than PyTorch's may write them, are copied when they are used. [Program.Close] gives
// the mapping up; it goes when the last [Storage.Hold] is released.
package export
