package main

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A function is one public name of Python.
type function struct {
	python     string // torch.Tensor.add_
	base       string // add_
	home       *home
	method     bool
	target     string // as a graph has it, or the name of the method
	signatures []signature
	forms      []form // decided by hand; else those of the signatures
}

// A home is a package, or a class of PyTorch's, with its functions.
type home struct {
	prefix string // torch.linalg.
	bound  string // in the table of signatures
	pkg    string // linalg, "" for torchops
}

var homes = []*home{
	{prefix: "torch.Tensor.", bound: "torch.Tensor."},
	{prefix: "torch.linalg.", bound: "torch._C._linalg.linalg_", pkg: "linalg"},
	{prefix: "torch.fft.", bound: "torch._C._fft.fft_", pkg: "fft"},
	{prefix: "torch.special.", bound: "torch._C._special.special_", pkg: "special"},
	{prefix: "torch.", bound: "torch."},
}

func homeOf(name string) *home {
	for _, h := range homes {
		if base, ok := strings.CutPrefix(name, h.prefix); ok && !strings.Contains(base, ".") {
			return h
		}
	}
	return nil
}

// publicNames are the functions that Python has, but for those that are left out.
func publicNames(root string) (names []string, err error) {
	text, err := os.ReadFile(filepath.Join(root, "torchops/testdata/public_names.txt"))
	if err != nil {
		return nil, err
	}
	left, err := os.ReadFile(filepath.Join(root, "torchops/excluded_names.txt"))
	excluded := map[string]bool{}
	for line := range strings.Lines(string(left)) {
		if line[0] != '#' && line[0] != '=' {
			for _, name := range strings.Fields(line) {
				excluded[name] = true
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		name, kind, _ := strings.Cut(strings.TrimSpace(line), "\t")
		h := homeOf(name)
		if h != nil && kind == "function" && !excluded[name] && !strings.HasPrefix(name[len(h.prefix):], "_") {
			names = append(names, name)
		}
	}
	return names, err
}

// tables are what the functions are made from.
type tables struct {
	bound            map[string][]signature
	composed, target map[string]string
	decided          map[string]decision
	docs             map[string]string
	rulings          map[string]ruling
	written          map[string]bool
}

func readTables(root string) (t tables, err error) {
	if t.bound, err = readBound(root); err != nil {
		return t, err
	}
	if t.composed, t.target, err = readComposed(root); err != nil {
		return t, err
	}
	if t.decided, err = readDecisions(root); err != nil {
		return t, err
	}
	if t.docs, err = readDocs(root); err != nil {
		return t, err
	}
	if t.rulings, err = readRulings(root); err != nil {
		return t, err
	}
	t.written, err = written(root)
	return t, err
}

// functions are those that are generated; missing names those with neither
// signature nor decision.
func functions(names []string, t tables) (list []function, missing []string) {
	for _, name := range names {
		h := homeOf(name)
		d, isDecided := t.decided[name]
		if isDecided && !d.given {
			continue
		}
		f := function{python: name, base: name[len(h.prefix):], home: h, method: h.prefix == "torch.Tensor.", target: h.bound + name[len(h.prefix):]}
		if f.method {
			f.target = f.base
		}
		if target := t.target[name]; target != "" && !f.method {
			f.target = target
		}
		switch params := t.composed[name]; {
		case d.given:
			f.signatures, f.forms = []signature{pythonSignature(d.params, f.method)}, d.forms
		case h.pkg == "" && t.written[f.goName("")]:
			continue
		case params != "":
			s := pythonSignature(params, f.method)
			s.results = form{results: []string{"Tensor"}}
			f.signatures, f.forms = []signature{s}, []form{s.results}
		default:
			if f.signatures = t.bound[h.bound+f.base]; f.signatures == nil {
				missing = append(missing, name)
				continue
			}
		}
		list = append(list, f)
	}
	return list, missing
}

// goName is the declared name of a form, "Tensor.Add" for a method.
func (f *function) goName(suffix string) string {
	name := upper(strings.TrimSuffix(f.base, "_")) + suffix
	if strings.HasSuffix(f.base, "_") {
		name += "InPlace"
	}
	if f.method {
		return "Tensor." + name
	}
	return name
}

// generate returns the files by their names.
func generate(root string) (map[string][]byte, error) {
	t, err := readTables(root)
	if err != nil {
		return nil, err
	}
	names, err := publicNames(root)
	if err != nil {
		return nil, err
	}
	list, missing := functions(names, t)
	if len(missing) > 0 {
		return nil, fmt.Errorf("no signature, and no decision in names.txt: %s", strings.Join(missing, " "))
	}
	texts, declared := map[string]*bytes.Buffer{}, map[string]string{}
	for _, f := range list {
		file := f.file()
		b := texts[file]
		if b == nil {
			b = &bytes.Buffer{}
			head(b, file)
			texts[file] = b
		}
		for _, g := range f.groups() {
			name := f.goName(g.suffix)
			if f.home.pkg != "" {
				name = f.home.pkg + "." + name
			}
			if t.written[name] {
				return nil, fmt.Errorf("%s is written by hand, and means something else than %s? say so in names.txt", name, f.python)
			}
			if other := declared[name]; other != "" {
				return nil, fmt.Errorf("%s: both %s and %s", name, other, f.python)
			}
			declared[name] = f.python
			g.write(b, &f, &t)
		}
	}
	files := map[string][]byte{}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		if files[file], err = format.Source(texts[file].Bytes()); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return files, nil
}

// topics are the files, each with what belongs there, the first that fits.
var topics = []struct {
	name string
	fits *regexp.Regexp
}{
	{"sparse", regexp.MustCompile(`sparse|coalesce|_indices(_copy)?$|^indices|^values|crow|ccol|to_dense|mkldnn|hspmm|smm$`)},
	{"quantized", regexp.MustCompile(`quant|^q_|^qscheme|int_repr|fbgemm|^choose_qparams`)},
	{"conv", regexp.MustCompile(`^(conv|.*convolution|max_pool|avg_pool|adaptive_|.*pool[123]d|unfold|im2col|col2im|pixel_|native_channel|channel_shuffle)`)},
	{"layer", regexp.MustCompile(`norm_stats|norm_gather|norm_elemt|norm_backward|^(batch|layer|group|instance|rms|native_.*|cudnn_batch|miopen_batch)_norm|renorm|embedding|lstm|gru|rnn|loss|bilinear|dropout|grid_sampler|affine_grid|softmax|triplet|dist$|cosine_similarity|prelu|glu|cross_entropy|kl_div|pairwise_distance|^alpha_|feature_`)},
	{"random", regexp.MustCompile(`^(rand|normal|bernoulli|multinomial|poisson|binomial|uniform|exponential|geometric|cauchy|log_normal|random|seed|initial_seed|get_rng|set_rng|rrelu)`)},
	{"signal", regexp.MustCompile(`window|stft|bartlett`)},
	{"creation", regexp.MustCompile(`^(new_|full|zeros|ones|empty|eye|arange|range|linspace|logspace|tril_indices|triu_indices|as_tensor|asarray|complex$|polar$|vander|scalar_tensor|from_file|clone|fill|zero_?$)|_like$`)},
	{"indexing", regexp.MustCompile(`gather|scatter|index|take|masked|nonzero|argwhere|^put|^select|narrow|slice|where|diagonal|diag|tril|triu|searchsorted|bucketize`)},
	{"linalg", regexp.MustCompile(`^(addmm|addmv|addr|addbmm|baddbmm|bmm|mm|mv|dot|inner|vdot|outer|ger|matmul|kron|cross|chain_matmul|cholesky|qr|svd|lu|inverse|det|logdet|slogdet|pinverse|matrix_|trace|triangular_solve|geqrf|orgqr|ormqr|lobpcg|pca_|tensordot|einsum|norm$|native_norm|nuclear|frobenius|adjoint|sspaddmm)`)},
	{"shape", regexp.MustCompile(`view|reshape|permute|transpose|^t_?$|^t_copy|squeeze|flatten|expand|repeat|tile|^cat|concat|stack|split|chunk|roll|flip|rot90|movedim|moveaxis|swap|broadcast|unbind|ravel|meshgrid|atleast|block_diag|cartesian|combinations|resize|alias|detach|unfold|constant_pad|squeeze|^set$|unsafe`)},
	{"convert", regexp.MustCompile(`^(bfloat16|byte|cdouble|cfloat|char|double|float|half|int|long|short|cpu|cuda|type|to|copy)_?$|^type_as|^is_|cudnn_is|stride|numel|nelement|ndimension|element_size|get_device|tolist|result_type|can_cast|promote|data|retain|requires_grad|resolve|dim_order|equal$|same_size|record_stream|pin_memory|^sym_`)},
}

// file is where a function goes.
func (f *function) file() string {
	if f.home.pkg != "" {
		return "torchops/" + f.home.pkg + "/api.go"
	}
	base := strings.TrimSuffix(f.base, "_")
	for _, topic := range topics {
		if topic.fits.MatchString(base) {
			return "torchops/api_" + topic.name + ".go"
		}
	}
	for _, op := range []string{"aten::" + base, "aten::" + base + ".Tensor", f.signatures[0].op} {
		if s := ir.Operators().Lookup(op); s != nil {
			if strings.Contains(s.Tags.String(), "pointwise") {
				return f.pointwise()
			}
		}
	}
	if regexp.MustCompile(`sum|prod|mean|median|mode|std|var|max|min|all$|any$|sort|topk|kthvalue|quantile|unique|hist|bincount|aminmax|logsumexp|count_nonzero|cum|trapz|trapezoid|diff|gradient|cov$|corrcoef|msort|isin$|hash_tensor|segment_reduce`).MatchString(base) {
		return "torchops/api_reduction.go"
	}
	return f.pointwise()
}

// pointwise is the largest topic, in three files.
func (f *function) pointwise() string {
	switch {
	case strings.HasSuffix(f.base, "_"):
		return "torchops/api_pointwise_inplace.go"
	case f.method:
		return "torchops/api_pointwise_methods.go"
	}
	return "torchops/api_pointwise.go"
}

func head(b *bytes.Buffer, file string) {
	b.WriteString("// Code generated by scripts/genapi from the signatures and the documentation of torch 2.15.0. DO NOT EDIT.\n\n")
	pkg := filepath.Base(filepath.Dir(file))
	fmt.Fprintf(b, "package %s\n", pkg)
	if pkg == "torchops" {
		return
	}
	b.WriteString("import torch \"github.com/torchfx-go/torchfx/torchops\"\n")
}
