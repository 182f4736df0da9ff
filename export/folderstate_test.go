package export

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// savedFolders returns the recorded cases of torch.fx that hold a saved folder.
func savedFolders(t *testing.T) []string {
	dirs, err := filepath.Glob(filepath.Join(fixtures(t, "fx"), "*", "folder"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	return dirs
}

func bytesOf(t *testing.T, tensor *Tensor) []byte {
	b, err := tensor.Bytes()
	require.NoError(t, err)
	return b
}

// TestOpenState reads what torch.save wrote and compares with the same state as
// safetensors.
func TestOpenState(t *testing.T) {
	for _, dir := range savedFolders(t) {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			saved, err := OpenState(filepath.Join(dir, "state_dict.pt"))
			require.NoError(t, err)
			defer func() { require.NoError(t, saved.Close()) }()
			want, err := OpenState(filepath.Join(dir, "state_dict.safetensors"))
			require.NoError(t, err)
			defer func() { require.NoError(t, want.Close()) }()
			require.ElementsMatch(t, want.Names(), saved.Names())
			for name, x := range want.All() {
				y, ok := saved.Tensor(name)
				require.True(t, ok)
				assert.Equal(t, x.DType, y.DType, name)
				assert.True(t, slices.Equal(x.Sizes, y.Sizes), name)
				assert.Equal(t, bytesOf(t, x), bytesOf(t, y), name)
			}
		})
	}
}

func numbers(t *testing.T, d ir.DType, offset int64, sizes, strides []int64, s *Storage) *Tensor {
	return &Tensor{Storage: s, DType: d, Sizes: sizes, Strides: strides, Offset: offset}
}

func TestWriteState(t *testing.T) {
	shared := NewStorage([]byte(strings.Repeat("abcd", 8)))
	in := map[string]*Tensor{
		"a.weight": numbers(t, ir.Float32, 0, []int64{2, 3}, []int64{3, 1}, shared),
		"a.view":   numbers(t, ir.Float32, 1, []int64{3, 2}, []int64{1, 3}, shared),
		"scalar":   numbers(t, ir.Int64, 0, []int64{}, []int64{}, NewStorage(make([]byte, 8))),
		"empty":    numbers(t, ir.Float16, 0, []int64{0, 4}, []int64{4, 1}, NewStorage(nil)),
		"small":    numbers(t, ir.Float8E5M2, 2, []int64{3}, []int64{1}, NewStorage([]byte("wxyzv"))),
		"ünïcode":  numbers(t, ir.Bool8, 0, []int64{1}, []int64{1}, NewStorage([]byte{1})),
	}
	names := []string{"scalar", "a.weight", "empty", "a.view", "small", "ünïcode"}
	var file bytes.Buffer
	require.NoError(t, WriteState(&file, func(yield func(string, *Tensor) bool) {
		for _, n := range names {
			if !yield(n, in[n]) {
				return
			}
		}
	}))
	s, err := readState(&span{r: bytes.NewReader(file.Bytes()), size: int64(file.Len())})
	require.NoError(t, err)
	require.Equal(t, names, s.Names())
	for name, got := range s.All() {
		want := in[name]
		assert.Equal(t, want.DType, got.DType, name)
		assert.Equal(t, want.Sizes, got.Sizes, name)
		assert.Equal(t, want.Strides, got.Strides, name)
		assert.Equal(t, bytesOf(t, want), bytesOf(t, got), name)
	}
	a, _ := s.Tensor("a.weight")
	b, _ := s.Tensor("a.view")
	assert.Same(t, a.Storage, b.Storage)

	err = WriteState(&file, func(yield func(string, *Tensor) bool) { yield("x", &Tensor{}) })
	require.ErrorContains(t, err, "write state x: expected a tensor with a storage")
}

// archiveWith makes an archive of torch.save from a pickle.
func archiveWith(t *testing.T, pickle string, records map[string]string) *span {
	files := map[string]string{"archive/data.pkl": pickle, "archive/version": "3\n"}
	for name, data := range records {
		files["archive/"+name] = data
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	data := b.Bytes()
	return &span{r: bytes.NewReader(data), size: int64(len(data))}
}

// TestStateRefuses has every hostile pickle refused, with nothing called.
func TestStateRefuses(t *testing.T) {
	tensor := func(numel, offset, size string) string {
		return "\x80\x02}X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK" +
			numel + "tQK" + offset + "K" + size + "\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtRs."
	}
	four := map[string]string{"data/0": strings.Repeat("x", 16)}
	s, err := readState(archiveWith(t, tensor("\x04", "\x01", "\x03"), four))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, s.Names())
	for _, tc := range []struct{ name, pickle, says string }{
		{"system", "\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "os.system is not called"},
		{"eval", "\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.", "__builtin__.eval is not called"},
		{"newobj", "\x80\x02cos\nsystem\n)\x81.", "os.system is not called"},
		{"build", "\x80\x02]N" + "b.", "expected attributes of a dict only"},
		{"opcode", "\x80\x02\x93.", "opcode 0x93"},
		{"inst", "\x80\x02(ios\nsystem\n.", "opcode 0x69"},
		{"protocol", "\x80\x04N.", "expected protocol 2, got 4"},
		{"no dict", "\x80\x02N.", "expected a dict of tensors, got None"},
		{"no name", "\x80\x02}K\x01Ns.", "expected names as keys, got int"},
		{"no tensor", "\x80\x02}X\x01\x00\x00\x00aK\x01s.", "state a: expected a tensor, got int"},
		{"cut", "\x80\x02}X\xff\x00\x00\x00a", "expected 255 more bytes, got 1"},
		{"no end", "\x80\x02}", "expected 1 more bytes, got 0"},
		{"underflow", "\x80\x02s.", "expected a value on the stack, got none"},
		{"no mark", "\x80\x02Nt.", "expected a mark on the stack, got none"},
		{"mark", "\x80\x02(\x85.", "got a mark"},
		{"memo", "\x80\x02h\x07.", "expected an earlier value under 7"},
		{"long", "\x80\x02\x8a\x09123456789.", "at most 8 bytes"},
		{"append", "\x80\x02}Na.", "expected a list to append to"},
		{"odd", "\x80\x02}(Nu.", "expected a dict and pairs"},
		{"global", "\x80\x02cos", "expected the name of a global"},
		{"text", "\x80\x02X\x01\x00\x00\x00\xff.", "expected UTF-8"},
		{"storage", "\x80\x02NQ.", "expected the description of a storage, got None"},
		{"numel", tensor("\x05", "\x00", "\x01"), "storage 0: expected 5 elements, got 16 bytes"},
		{"expanded", strings.Replace(tensor("\x04", "\x00", "\x01"), "K\x01\x85K\x01\x85", "\x8a\x05\x00\x00\x00\x00\x01\x85K\x00\x85", 1), "bytes beyond their storage"},
		{"offset", tensor("\x04", "\x03", "\x02"), "within a storage of 16 bytes"},
		{"class", strings.Replace(tensor("\x04", "\x00", "\x01"), "FloatStorage", "EvilStorage", 1), "storage class torch EvilStorage is unknown"},
		{"key", strings.Replace(tensor("\x04", "\x00", "\x01"), "X\x01\x00\x00\x000", "X\x01\x00\x00\x009", 1), "record missing: data/9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := readState(archiveWith(t, tc.pickle, four))
			require.ErrorContains(t, err, tc.says)
		})
	}
	_, err = readState(archiveWith(t, tensor("\x04", "\x00", "\x01"), map[string]string{"byteorder": "middle"}))
	require.ErrorContains(t, err, "expected little-endian storages, got middle")
	_, err = readState(&span{r: strings.NewReader("\x80\x02\x8a\x0al\xfc"), size: 6})
	require.ErrorContains(t, err, "format from before torch 1.6")
	_, err = OpenState(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzState(f *testing.F) {
	var file bytes.Buffer
	require.NoError(f, WriteState(&file, func(yield func(string, *Tensor) bool) {
		for i := range 3 {
			if !yield(fmt.Sprint(i), &Tensor{Storage: NewStorage(make([]byte, 8)), DType: ir.Float32, Sizes: []int64{2}, Strides: []int64{1}}) {
				return
			}
		}
	}))
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readState(&span{r: bytes.NewReader(data), size: int64(len(data))})
		if err != nil {
			return
		}
		for name, x := range s.All() {
			if x.Numel() > 1<<16 {
				continue
			}
			if _, err := x.Bytes(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	})
}

// FuzzPickle reads pickles without the archive around them.
func FuzzPickle(f *testing.F) {
	f.Add([]byte("\x80\x02}X\x01\x00\x00\x00aK\x01s."))
	f.Add([]byte("\x80\x02ccollections\nOrderedDict\n)Rq\x00(X\x01\x00\x00\x00a]q\x01(K\x01Ne\x85uh\x00\x86."))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &saveReader{storages: map[string]*Storage{"0": NewStorage(make([]byte, 64))}}
		r.archive = &archive{records: map[string]*record{}}
		p := &unpickler{data: data, persistent: r.storage, reduce: r.reduce}
		if v, err := p.load(); err == nil {
			_, _ = stateOf(v)
		}
	})
}
