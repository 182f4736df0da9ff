package export

import (
	"io"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An Option changes what [Open] and [Read] do.
type Option func(*options)

type options struct {
	model     string
	catalogue *ir.Catalogue
	skipSums  bool
	graphOnly bool
	noWeights bool
	classes   func(name string) bool
	stored    bool // the archive comes out of a deflated record

	signatureOnly bool
	weightsFrom   string
	weightsKeys   []string
	opened        []func() error // files beside the archive
}

// Model chooses among several programs of one archive. Default: the only one,
// or the one called "model".
func Model(name string) Option { return func(o *options) { o.model = name } }

// Operators gives the operators that the program may use, for instance those of
// a live libtorch with custom libraries. Default: the embedded catalogue,
// [ir.Operators].
func Operators(c *ir.Catalogue) Option { return func(o *options) { o.catalogue = c } }

// SkipChecksums leaves the checksums of records unverified, which saves reading
// all weights while opening. Default: they are verified, unless the writer left
// all of them zero.
func SkipChecksums() Option { return func(o *options) { o.skipSums = true } }

// GraphOnly reads no weights at all, not even what they are; the state is
// empty. Default: weights are read and checked.
func GraphOnly() Option { return func(o *options) { o.graphOnly = true } }

// WithoutWeights reads and checks what the weights are, but not their elements:
// tensors have no storage. Default: weights are mapped.
func WithoutWeights() Option { return func(o *options) { o.noWeights = true } }

// Open reads the program in a .pt2 file, found out by its content whatever its
// name. Weights are mapped copy-on-write where the platform can, so writing
// into them does not change the file; the file must not be truncated while the
// program is open.
//
// Nothing in the file is executed. All that is wrong with it is reported at
// once, as errors joined: of class [ir.ErrFormat] for damage, [ir.ErrVersion]
// for another version of the format, [ir.ErrUnsupported] for an operator, dtype
// or feature that is not there, [ir.ErrKey] for a model that is not in it.
func Open(path string, opts ...Option) (*Program, error) {
	s, close, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	return read(s, close, opts)
}

// Read is [Open] for a file that is not in the file system: size bytes that r
// reads. Weights are copied to the heap.
func Read(r io.ReaderAt, size int64, opts ...Option) (*Program, error) {
	return read(&span{r: r, size: size}, nil, opts)
}

// read reads a program; the files are closed with it, or at once where there is
// none.
func read(s *span, close func() error, opts []Option) (*Program, error) {
	var o options
	var p *Program
	err := o.take(opts)
	if err == nil {
		p, err = o.read(s)
	}
	close = o.closeOpened(close)
	if err != nil {
		_ = close()
		return nil, err
	}
	p.closeContainer = close
	return p, nil
}

func (o *options) take(opts []Option) error {
	if err := ir.CheckOptions("open", opts); err != nil {
		return err
	}
	for _, opt := range opts {
		opt(o)
	}
	return nil
}

func (o *options) read(s *span) (*Program, error) {
	if o.catalogue == nil {
		o.catalogue = ir.Operators()
	}
	a, err := openArchive(s)
	if err != nil {
		return nil, err
	}
	a.findRoot()
	a.sums = a.sums && !o.skipSums
	gen, err := detect(a)
	if err != nil {
		return nil, err
	}
	var f faults
	var src *source
	if gen == flat {
		if src, err = o.flatSource(a, &f); err != nil {
			return nil, err
		}
	} else {
		src = o.packageSource(a, gen, &f)
	}
	if src == nil {
		return nil, f.join()
	}
	p := o.program(a, src, &f)
	if err := f.join(); err != nil {
		return nil, err
	}
	if p == nil { // not without a fault, but a caller must never see neither
		return nil, ir.Errorf(ir.ErrFormat, "%s: holds no program", src.record)
	}
	return p, nil
}

// A source is what a container of any generation boils down to: the text of one
// program, and a way to its state.
type source struct {
	name    string // of the program
	record  string // that holds its JSON
	text    []byte
	old     bool // schema 7 is read, and Python's spelling of infinity
	state   func() *state
	samples string            // the record of sample inputs; "" where there are none
	extra   map[string]string // extra files: name -> record
	writer  string            // the record that names who wrote the file, "" where that was PyTorch
}

// packageSource finds the parts of an archive with a root folder: of torch 2.8,
// whose weights are pickled, or of a later one.
func (o *options) packageSource(a *archive, gen generation, f *faults) *source {
	name, err := pickModel(a, o.model)
	if err != nil {
		f.err(err)
		return nil
	}
	src := &source{name: name, record: modelsDir + name + ".json", extra: map[string]string{}}
	if src.text, err = a.text(src.record, maxText); err != nil {
		f.err(err)
	}
	if len(a.outside) > 0 {
		f.warn("%d records lie outside the root folder %s and are ignored, among them %q", len(a.outside), a.root, clip(a.outside[0]))
	}
	if others := a.others(); len(others) > 0 {
		f.warn("%d records are of no program and do not go into a file that is written of one, among them %q", len(others), clip(others[0]))
	}
	o.warnSums(a, f)
	if a.has("byteorder") && gen == payloads { // pickled weights have one of their own
		if text, err := a.text("byteorder", 64); err != nil {
			f.err(err)
		} else if string(text) == "big" {
			// raw payloads are little-endian all the same, as torch 2.15 writes and reads them
			f.warn("byteorder says big; PyTorch reads raw payloads as little-endian, and so do we")
		}
	}
	src.sample(a, samplesDir+name+".pt")
	for _, record := range a.below(extraDir) {
		if record == writerRecord {
			src.writer = record
			continue
		}
		src.extra[strings.TrimPrefix(record, extraDir)] = record
	}
	src.state = func() *state {
		if gen == pickled {
			return o.pickledState(a, weightsDir+name+".pt", constantsDir+name+".pt", f)
		}
		return (&loader{a: a, faults: f, bare: o.noWeights}).load(name)
	}
	return src
}

// sample notes the record of sample inputs. It is never opened: it is a pickle of
// whatever classes the inputs have.
func (src *source) sample(a *archive, record string) {
	if r, err := a.find(record); err == nil && r.size > 0 {
		src.samples = record
	}
}

// program makes the program of a source; what is wrong goes to f.
func (o *options) program(a *archive, src *source, f *faults) *Program {
	var st *state
	if !o.graphOnly {
		st = src.state()
	}
	if src.text == nil {
		return nil
	}
	v, err := parseJSON(src.text, src.old)
	if err != nil {
		f.err(ir.Errorf(ir.ErrFormat, "%s: %w", src.record, err))
		return nil
	}
	d := &decoder{faults: f, record: src.record, old: src.old, signatureOnly: o.signatureOnly}
	j := d.program(v)
	if j != nil && st != nil && o.weightsFrom != "" {
		o.replaceWeights(st, j.module.inputs, f)
	}
	p := o.assemble(j, st, d)
	if p == nil {
		return nil
	}
	if st != nil {
		p.further.weights, p.further.constants = st.foreign[0], st.foreign[1]
	}
	if d.foreign && !src.old { // words that are no JSON, and no later version
		p.further.program = slices.Clone(src.text)
	}
	p.Name, p.Samples = src.name, src.samples != ""
	if p.Samples {
		p.samples = func() ([]byte, error) { return a.live(src.samples) }
	}
	if src.writer != "" {
		if text, err := a.text(src.writer, 1<<10); err == nil {
			p.Writer = printable(strings.TrimSpace(string(text)))
		}
	}
	p.Extra = readExtra(a, src.extra, f)
	p.Warnings = f.warnings
	return p
}

// readExtra copies the extra files, up to a bound.
func readExtra(a *archive, names map[string]string, f *faults) map[string][]byte {
	if len(names) == 0 {
		return nil
	}
	extra := make(map[string][]byte, len(names))
	left := int64(maxExtra)
	for _, name := range sortedKeys(names) {
		data, err := a.text(names[name], left)
		if err != nil {
			f.warn("extra file %s was not read: %v", clip(name), err)
			continue
		}
		left -= int64(len(data))
		extra[name] = slices.Clone(data)
	}
	return extra
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
