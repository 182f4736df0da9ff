package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/export"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// readInputs returns a value for each input of the signature, from the files and
// flags of the command line, [unset] where they have none. Everything that is
// wrong is reported at once.
func readInputs(cmd *cobra.Command, s *signature, f runFlags) ([]any, error) {
	r := &inputReader{cmd: cmd, signature: s, values: make([]any, len(s.inputs))}
	for i := range r.values {
		r.values[i] = unset{}
	}
	for _, arg := range f.inputs {
		r.file(arg)
	}
	if f.scalars != "" {
		r.scalars(f.scalars)
	}
	for _, arg := range f.set {
		name, text, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, usagef("--set: expected NAME=VALUE, got %q", arg)
		}
		r.json(name, json.RawMessage(text), "--set")
	}
	if err := errors.Join(r.faults...); err != nil {
		closeTensors(r.values)
		return nil, err
	}
	return r.values, nil
}

type inputReader struct {
	*signature
	cmd    *cobra.Command
	values []any
	faults []error
}

func (r *inputReader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

// put stores the value of an input that came from somewhere.
func (r *inputReader) put(name string, v any, from string) {
	i := r.find(name)
	switch {
	case i < 0:
		r.fault("%s: input %q: expected one of %s", from, name, r.names())
	case r.values[i] != any(unset{}):
		r.fault("%s: input %q is given twice", from, name)
	default:
		r.values[i] = v
		return
	}
	closeTensors([]any{v})
}

// tensors is a file of named tensors.
type tensors interface {
	Names() []string
	Tensor(name string) (*export.Tensor, error)
	Close() error
}

// file reads --inputs [NAME=]FILE.
func (r *inputReader) file(arg string) {
	name, path := "", arg
	if before, after, ok := strings.Cut(arg, "="); ok && !exists(arg) {
		if name, path = before, after; r.find(name) < 0 {
			r.fault("--inputs %s: input %q: expected one of %s", arg, name, r.names())
			return
		}
	}
	if err := r.read(name, path); err != nil {
		r.fault("%s: %w", path, err)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func (r *inputReader) read(name, path string) error {
	in, size, err := r.open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	head := make([]byte, 6)
	n, err := in.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	var file tensors
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		t, err := export.ReadNpy(io.NewSectionReader(in, 0, size))
		if err != nil {
			return err
		}
		if name == "" {
			name = "i0"
		}
		return r.tensor(name, t, path)
	case bytes.HasPrefix(head, []byte("PK")):
		file, err = export.ReadNpz(in, size)
	default:
		file, err = export.ReadSafetensors(in, size)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	names := file.Names()
	if name != "" && len(names) != 1 {
		return fmt.Errorf("expected a file of one tensor for input %s, got %d", name, len(names))
	}
	for _, n := range names {
		t, err := file.Tensor(n)
		if err == nil {
			if name != "" {
				n = name
			}
			err = r.tensor(n, t, path)
		}
		if err != nil {
			return fmt.Errorf("tensor %q: %w", n, err)
		}
	}
	return nil
}

func (r *inputReader) tensor(name string, t *export.Tensor, from string) error {
	data, err := t.Bytes()
	if err != nil {
		return err
	}
	shape := make([]int, len(t.Sizes))
	for i, n := range t.Sizes {
		shape[i] = int(n)
	}
	v, err := torch.FromBytes(t.DType, shape, data)
	if err != nil {
		return err
	}
	r.put(name, v, from)
	return nil
}

// A section is bytes to read at any place.
type section interface {
	io.ReaderAt
	io.Closer
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// open opens a file, or standard input, whose bytes are kept in memory.
func (r *inputReader) open(path string) (section, int64, error) {
	if path == "-" {
		data, err := io.ReadAll(r.cmd.InOrStdin())
		return memory{bytes.NewReader(data)}, int64(len(data)), err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// scalars reads --scalars FILE.
func (r *inputReader) scalars(path string) {
	f, err := openInput(r.cmd, path)
	if err != nil {
		r.fault("--scalars: %w", err)
		return
	}
	defer f.Close()
	var values map[string]json.RawMessage
	if err := json.NewDecoder(f).Decode(&values); err != nil {
		r.fault("--scalars %s: expected a JSON object: %w", path, err)
		return
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		r.json(name, values[name], path)
	}
}

// json stores a number, string, boolean or null.
func (r *inputReader) json(name string, text json.RawMessage, from string) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		r.fault("%s: input %q: expected a JSON value (strings in double quotes), got %s", from, name, text)
		return
	}
	switch number := v.(type) {
	case json.Number:
		if i, err := number.Int64(); err == nil {
			v = i
		} else if x, err := number.Float64(); err == nil {
			v = x
		} else {
			r.fault("%s: input %q: expected a number of 64 bits, got %s", from, name, text)
			return
		}
	case map[string]any, []any:
		r.fault("%s: input %q: expected a number, string, boolean or null, got %s; inputs are the leaves of lists and dicts", from, name, text)
		return
	}
	r.put(name, v, from)
}

// writeResults writes tensors to the file name, "" for none, and prints what is
// no tensor. Where the tensors go to standard output, the rest goes to standard
// error.
func writeResults(cmd *cobra.Command, name string, results []any) error {
	lines := cmd.OutOrStdout()
	if name == "-" {
		lines = cmd.ErrOrStderr()
	}
	found := map[string]*export.Tensor{}
	for i, v := range results {
		key := fmt.Sprintf("o%d", i)
		t, ok := v.(*torch.Tensor)
		switch {
		case !ok:
			fmt.Fprintf(lines, "%s = %s\n", key, torch.Describe(v))
		case name == "":
			fmt.Fprintf(lines, "%s = %s\n", key, t)
		default:
			blob, err := blobOf(t)
			if err != nil {
				return fmt.Errorf("result %s: %w", key, err)
			}
			found[key] = blob
		}
	}
	if name == "" {
		return nil
	}
	write, err := resultWriter(name, found)
	if err != nil {
		return err
	}
	return writeOutput(cmd, name, write)
}

// blobOf copies a tensor's elements.
func blobOf(t *torch.Tensor) (*export.Tensor, error) {
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	blob := &export.Tensor{Storage: export.NewStorage(data), DType: t.DType()}
	for _, n := range t.Shape() {
		blob.Sizes = append(blob.Sizes, int64(n))
	}
	blob.Strides = make([]int64, len(blob.Sizes))
	stride := int64(1)
	for i := len(blob.Sizes) - 1; i >= 0; i-- {
		blob.Strides[i] = stride
		stride *= max(blob.Sizes[i], 1)
	}
	return blob, nil
}

// resultFormat returns the format that the name of an output file asks for.
func resultFormat(name string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case name == "-":
		return ".safetensors", nil
	case ext == ".safetensors", ext == ".npz", ext == ".npy":
		return ext, nil
	}
	return "", usagef("--outputs %s: expected a name in .safetensors, .npz or .npy", name)
}

// resultWriter returns what writes the tensors in the format of the name.
func resultWriter(name string, found map[string]*export.Tensor) (func(io.Writer) error, error) {
	format, err := resultFormat(name)
	switch {
	case err != nil:
		return nil, err
	case format == ".safetensors":
		return func(w io.Writer) error { return export.WriteSafetensors(w, found, nil) }, nil
	case format == ".npz":
		return func(w io.Writer) error { return export.WriteNpz(w, found) }, nil
	case len(found) != 1:
		return nil, usagef("--outputs %s: expected one tensor for a .npy file, got %d; use .npz or .safetensors", name, len(found))
	}
	return func(w io.Writer) error {
		for _, t := range found {
			return export.WriteNpy(w, t)
		}
		return nil
	}, nil
}
