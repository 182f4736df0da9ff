package export

import (
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/internal/wholefile"
	"github.com/torchfx-go/torchfx/ir"
)

const (
	trainingDialect = "TRAINING"
	writerRecord    = extraDir + "torchfx_writer" // names who wrote the archive
	writerName      = "torchfx"
)

// A WriteOption changes how [Save] and [Write] work.
type WriteOption func(*writer)

// Progress has f called as content is written, with the bytes that are done and
// those that there are altogether. f must be quick.
func Progress(f func(done, total int64)) WriteOption { return func(w *writer) { w.progress = f } }

// Save writes programs as a .pt2 file of torch 2.15, which torch.export.load opens.
// One program is called "model" in it, as Python expects; several keep their names,
// and one of them is to be called so.
//
//   - What torch.export.load would refuse or misread is refused, all of it at once,
//     before a byte is written: values without meta, functions that are no operators
//     (a graph of torch.relu and modules must be lowered to ATen first), weights that
//     are missing.
//   - The file appears whole or not at all, and may replace the one that a program
//     was read from.
//   - Weights are written as they are in memory, from mapped files without being held;
//     names that share memory share it in the file.
//   - Extra files, sample inputs and what else the program had in its file go along;
//     nothing of it is opened. [Program.Writer] of the new file names this package.
//
// Errors have class [ir.ErrUnsupported] for what programs cannot say, [ir.ErrValue]
// for a program that contradicts itself, [ir.ErrClosed] where weights are gone.
func Save(path string, programs []*Program, opts ...WriteOption) error {
	stem := filepath.Base(path)
	stem = strings.TrimSuffix(stem, filepath.Ext(stem))
	if checkRecordName(stem+"/") != nil || strings.Trim(stem, ".") == "" {
		stem = "archive"
	}
	w, err := newWriter(stem, programs, opts)
	if err != nil {
		return err
	}
	return wholefile.Write(path, w.write)
}

// Write is [Save] to out, which gets nothing where the programs are refused.
func Write(out io.Writer, programs []*Program, opts ...WriteOption) error {
	w, err := newWriter("archive", programs, opts)
	if err != nil {
		return err
	}
	return w.write(out)
}

// A writer is an archive that is ready to be written: all its records are known.
type writer struct {
	root     string
	records  []outRecord
	progress func(done, total int64)
}

type outRecord struct {
	name   string
	data   []byte
	mapped bool // the bytes are those of a mapped file
}

func newWriter(root string, programs []*Program, opts []WriteOption) (*writer, error) {
	if err := ir.CheckOptions("save", opts); err != nil {
		return nil, err
	}
	w := &writer{root: root}
	for _, o := range opts {
		o(w)
	}
	var f faults
	if len(programs) == 0 {
		return nil, ir.Errorf(ir.ErrValue, "save: expected a program, got none")
	}
	extra := map[string][]byte{}
	seen := map[string]bool{}
	counts := payloadCounts{}
	for _, p := range programs {
		name := p.Name
		if len(programs) == 1 {
			name = defaultModel
		}
		if name == "" || strings.ContainsAny(name, "/\\") || checkRecordName(name) != nil || seen[name] {
			f.add(ir.ErrValue, "program %q: expected a name of its own without slashes", name)
		}
		seen[name] = true
		w.program(name, p, &counts, &f)
		for _, file := range sortedKeys(p.Extra) {
			if old, twice := extra[file]; twice && string(old) != string(p.Extra[file]) {
				f.add(ir.ErrValue, "extra file %s: two programs have different ones", file)
			} else if err := checkRecordName(file); err != nil || extraDir+file == writerRecord {
				f.add(ir.ErrValue, "extra file %q: cannot have that name", file)
			}
			extra[file] = p.Extra[file]
		}
	}
	if err := f.join(); err != nil {
		return nil, err
	}
	for _, file := range sortedKeys(extra) {
		w.add(extraDir+file, extra[file])
	}
	w.add(writerRecord, []byte(writerName+"\n"))
	w.add(archiveFormat, []byte("pt2"))
	w.add("archive_version", []byte("0"))
	w.add(".data/version", []byte("6\n"))
	w.add("byteorder", []byte("little"))
	return w, nil
}

func (w *writer) add(name string, data []byte) {
	w.records = append(w.records, outRecord{name: name, data: data})
}

// program adds the records of one program.
func (w *writer) program(name string, p *Program, counts *payloadCounts, f *faults) {
	if p.outputs != nil {
		f.add(ir.ErrUnsupported, "program %s: only its signature was read", name)
		return
	}
	e := &payloadEncoder{p: p, faults: f, counts: counts, add: func(r outRecord) { w.records = append(w.records, r) }}
	w.add(weightsDir+name+"_weights_config.json", nil) // before its payloads are known
	config := len(w.records) - 1
	w.records[config].data = graft(e.config(weightsDir, true), p.further.weights, configShape)
	w.add(constantsDir+name+"_constants_config.json", nil)
	config = len(w.records) - 1
	w.records[config].data = graft(e.config(constantsDir, false), p.further.constants, configShape)
	w.add(modelsDir+name+".json", graft(encodeProgram(p, f), p.further.program, programShape))
	var samples []byte
	if p.samples != nil {
		var err error
		if samples, err = p.samples(); err != nil {
			f.err(err)
		}
	}
	w.add(samplesDir+name+".pt", samples)
}

// write writes the archive.
func (w *writer) write(out io.Writer) error {
	z := newZipWriter(out, w.root+"/")
	if w.progress != nil {
		var done, total int64
		for _, r := range w.records {
			total += int64(len(r.data))
		}
		z.wrote = func(n int) {
			done += int64(n)
			w.progress(done, total)
		}
	}
	for _, r := range w.records {
		if z.add(r.name, r.data); r.mapped {
			pageOut(r.data)
		}
	}
	return z.close()
}

// payloadCounts number the payloads of an archive, through all its programs.
type payloadCounts struct{ weights, tensors, objects, opaque int }

// A payloadEncoder writes the state of a program: configs, and a record for each
// storage.
type payloadEncoder struct {
	p      *Program
	faults *faults
	counts *payloadCounts
	add    func(outRecord)
}

// A payloadKey is what becomes one record: the elements of a storage, read as one
// dtype.
type payloadKey struct {
	storage *Storage
	dtype   ir.DType
}

// config adds the payloads of the weights, or of the constants, and returns the
// config that lists them.
func (e *payloadEncoder) config(dir string, weights bool) []byte {
	paths := map[payloadKey]string{}
	blobs := map[*byte]string{}
	w := &jsonWriter{}
	w.object(func() {
		w.key("config")
		w.object(func() {
			for _, name := range e.names(weights) {
				if o := e.p.Object(name); o != nil {
					e.object(w, name, o, blobs)
					continue
				}
				e.tensor(w, dir, name, e.p.Tensor(name), weights, paths)
			}
		})
	})
	return w.b
}

// names lists the state that belongs into the weights, or into the constants: as
// the signature says, and what it does not name as it was in the file.
func (e *payloadEncoder) names(weights bool) []string {
	isWeight := map[string]bool{}
	listed := map[string]bool{}
	var order []string
	for _, in := range e.p.Signature.Inputs {
		switch in.Kind {
		case UserInput, TokenInput:
			continue
		}
		isWeight[in.Target] = in.Kind == ParameterInput || in.Kind == BufferInput && in.Persistent
		if e.p.Tensor(in.Target) == nil && e.p.Object(in.Target) == nil {
			if weights == isWeight[in.Target] {
				e.faults.add(ir.ErrValue, "%s %s: expected it in the state of the program, got none", in.Kind, in.Target)
			}
		}
	}
	if e.p.state == nil {
		return nil
	}
	for _, name := range e.p.state.names {
		of, inSignature := isWeight[name]
		if !inSignature {
			of = e.p.state.weights[name]
		}
		if of == weights && !listed[name] {
			listed[name] = true
			order = append(order, name)
		}
	}
	return order
}

func (e *payloadEncoder) tensor(w *jsonWriter, dir, name string, t *Tensor, weights bool, paths map[payloadKey]string) {
	if t == nil {
		return // noted
	}
	data, mapped, err := e.elements(t)
	if err != nil {
		e.faults.add(ir.ClassOf(err), "state %s: %w", name, err)
		return
	}
	key := payloadKey{t.Storage, t.DType}
	path, ok := paths[key]
	if !ok {
		if weights {
			path = "weight_" + strconv.Itoa(e.counts.weights)
			e.counts.weights++
		} else {
			path = tensorPrefix + strconv.Itoa(e.counts.tensors)
			e.counts.tensors++
		}
		paths[key] = path
		e.add(outRecord{dir + path, data, mapped})
	}
	payloadEntry(w, name, path, t.Parameter && weights, false, func() {
		m := t.TensorMeta()
		(&metaEncoder{jsonWriter: w, p: e.p, fault: func(c *ir.Class, format string, args ...any) {
			e.faults.add(c, "state "+strings.ReplaceAll(name, "%", "%%")+": "+format, args...)
		}}).tensor(m)
	})
}

// elements returns the bytes of a tensor's whole storage, to read, and whether they are
// those of a mapped file.
func (e *payloadEncoder) elements(t *Tensor) (data []byte, mapped bool, err error) {
	if t.Storage == nil {
		return nil, false, ir.Errorf(ir.ErrClosed, "expected its elements, got none: the program was opened without them, or saved so")
	}
	need, ok := extent(t.Sizes, t.Strides, t.Offset)
	size := int64(t.DType.Size())
	if !ok || size == 0 || len(t.Sizes) != len(t.Strides) || need > int64(t.Storage.Len())/size {
		return nil, false, ir.Errorf(ir.ErrValue, "expected a view of its storage of %d bytes, got sizes %v, strides %v and offset %d of %s", t.Storage.Len(), t.Sizes, t.Strides, t.Offset, t.DType)
	}
	data, mapped = t.Storage.peek()
	if data == nil && t.Storage.Len() > 0 {
		return nil, false, ir.Errorf(ir.ErrClosed, "expected an open file, got one that is closed")
	}
	return data[:int64(len(data))/size*size], mapped, nil
}

// object adds a custom object, byte for byte.
func (e *payloadEncoder) object(w *jsonWriter, name string, o *Object, blobs map[*byte]string) {
	if len(o.Data) == 0 {
		e.faults.add(ir.ErrClosed, "custom object %s: expected its bytes, got none: the program was opened without them", name)
		return
	}
	path, ok := blobs[&o.Data[0]]
	if !ok {
		prefix, n := objectPrefix, &e.counts.objects
		if o.Python {
			prefix, n = opaquePrefix, &e.counts.opaque
		}
		path = prefix + strconv.Itoa(*n)
		*n++
		blobs[&o.Data[0]] = path
		e.add(outRecord{name: constantsDir + path, data: o.Data})
	}
	payloadEntry(w, name, path, false, true, w.null)
}

// payloadEntry writes an entry of a config.
func payloadEntry(w *jsonWriter, name, path string, param, pickle bool, meta func()) {
	w.key(name)
	w.object(func() {
		w.key("path_name")
		w.str(path)
		w.key("is_param")
		w.bool(param)
		w.key("use_pickle")
		w.bool(pickle)
		w.key("tensor_meta")
		meta()
	})
}
