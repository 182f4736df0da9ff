package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/internal/wholefile"
	"github.com/torchfx-go/torchfx/ir"
)

// The bounds on the index of a sharded set of safetensors.
const (
	maxIndex  = 64 << 20 // bytes of its text
	maxShards = 10_000
)

// indexSuffix is how the name of an index ends, as the transformers library has it.
const indexSuffix = ".safetensors.index.json"

// Files returns the names of the files of a sharded set, in the order of the index;
// none of a single file.
func (f *Safetensors) Files() []string { return slices.Clone(f.files) }

// openSharded opens the safetensors files that an index names, which lie beside it.
// Source of the form: save_pretrained of the transformers library.
func openSharded(path string) (*Safetensors, error) {
	text, err := readBounded(path, maxIndex)
	if err != nil {
		return nil, err
	}
	v, err := parseJSON(text, false)
	if err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "safetensors index: %w", err)
	}
	f := &Safetensors{meta: map[string]string{}, shards: map[string]*Safetensors{}}
	var faults faults
	files := map[string]*Safetensors{}
	f.index(&decoder{faults: &faults, record: "safetensors index"}, v, func(name, file string) {
		if file == "" || file != filepath.Base(file) || strings.ContainsAny(file, `/\`) || file == "." || file == ".." {
			faults.add(ir.ErrFormat, "safetensors index, %s: expected a file beside the index, got %q", clip(name), clip(file))
			return
		}
		shard, opened := files[file]
		if !opened {
			if len(files) == maxShards {
				faults.add(ir.ErrFormat, "safetensors index: expected at most %d files", maxShards)
				return
			}
			if shard, err = openOneFile(filepath.Join(filepath.Dir(path), file)); err != nil {
				faults.err(fmt.Errorf("safetensors index, file %s: %w", clip(file), err))
			}
			files[file] = shard
			f.files = append(f.files, file)
		}
		if shard == nil {
			return // noted
		}
		if _, ok := shard.entries[name]; !ok {
			faults.add(ir.ErrKey, "safetensors index: expected %s in %s, found no such name there", clip(name), file)
			return
		}
		f.names = append(f.names, name)
		f.shards[name] = shard
	})
	f.close = func() error {
		var errs []error
		for _, shard := range files {
			if shard != nil {
				errs = append(errs, shard.Close())
			}
		}
		return errors.Join(errs...)
	}
	if err := faults.join(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// index reads the members of an index.
func (f *Safetensors) index(d *decoder, v jsonValue, entry func(name, file string)) {
	seen := map[string]bool{}
	found := false
	d.table(v, "the index", func(key string, item jsonValue) {
		switch key {
		case "metadata":
			d.table(item, key, func(name string, value jsonValue) {
				if s, ok := value.str(); ok {
					f.meta[name] = s
				} else if n := value.number(); n != "" {
					f.meta[name] = n
				}
			})
		case "weight_map":
			found = true
			d.table(item, key, func(name string, file jsonValue) {
				if seen[name] {
					d.fault(ir.ErrFormat, "%s is there twice", clip(name))
					return
				}
				seen[name] = true
				entry(name, d.str(file, "a file name"))
			})
		}
	})
	if !found {
		d.fault(ir.ErrFormat, "expected a weight_map, got none")
	}
}

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = ir.Errorf(ir.ErrFormat, "%s: expected at most %d bytes, got more", filepath.Base(path), limit)
	}
	return data, err
}

// WriteShardedSafetensors writes tensors as a set of safetensors files of at most
// shardBytes of elements each (more only where one tensor is larger), and the index at
// path, "model.safetensors.index.json", that says which is where: what
// from_pretrained of the transformers library opens. Tensors go in the order of their
// names. The index is written last, each file whole or not at all.
func WriteShardedSafetensors(path string, tensors map[string]*Tensor, metadata map[string]string, shardBytes int64) error {
	stem, ok := strings.CutSuffix(filepath.Base(path), indexSuffix)
	if !ok || stem == "" || shardBytes <= 0 {
		return ir.Errorf(ir.ErrValue, "safetensors index %s: expected a name that ends in %s, and a positive size of the parts", path, indexSuffix)
	}
	var shards []map[string]*Tensor
	var used, total int64
	for _, name := range sortedNames(tensors) {
		size := tensors[name].Numel() * int64(tensors[name].DType.Size())
		if len(shards) == 0 || used > 0 && used+size > shardBytes {
			shards, used = append(shards, map[string]*Tensor{}), 0
		}
		shards[len(shards)-1][name] = tensors[name]
		used, total = used+size, total+size
	}
	where := map[string]string{}
	for i, shard := range shards {
		file := fmt.Sprintf("%s-%05d-of-%05d.safetensors", stem, i+1, len(shards))
		err := wholefile.Write(filepath.Join(filepath.Dir(path), file), func(w io.Writer) error {
			return WriteSafetensors(w, shard, metadata)
		})
		if err != nil {
			return err
		}
		for name := range shard {
			where[name] = file
		}
	}
	w := &jsonWriter{}
	w.object(func() {
		w.key("metadata")
		w.object(func() {
			w.key("total_size")
			w.int(total)
		})
		w.key("weight_map")
		w.object(func() {
			for _, name := range sortedNames(tensors) {
				w.key(name)
				w.str(where[name])
			}
		})
	})
	return wholefile.Write(path, func(out io.Writer) error {
		_, err := out.Write(append(w.b, '\n'))
		return err
	})
}

// sortedNames sorts names piece by piece, numbers by their value, so that layer 2
// comes before layer 10.
func sortedNames(tensors map[string]*Tensor) []string {
	names := sortedKeys(tensors)
	slices.SortStableFunc(names, func(a, b string) int {
		return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
			m, err1 := strconv.ParseUint(x, 10, 32)
			n, err2 := strconv.ParseUint(y, 10, 32)
			if err1 == nil && err2 == nil {
				return cmp.Compare(m, n)
			}
			return strings.Compare(x, y)
		})
	})
	return names
}
