package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// unpickleText reads a pickle that stands alone.
func unpickleText(text string) (any, error) {
	v, _, err := (&unpickler{}).unpickle([]byte(text))
	return v, err
}

func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func TestPickleHostile(t *testing.T) {
	tests := []struct {
		name, pickle string
		class        *ir.Class
		says         string
	}{
		{"empty", "", ir.ErrFormat, "got the end"},
		{"no value", ".", ir.ErrFormat, "expected a value on the stack"},
		{"os.system", "cos\nsystem\n" + text("true") + "\x85R.", ir.ErrUnsupported, "class os.system is not allowed"},
		{"posix.system", "cposix\nsystem\n(" + text("true") + "tR.", ir.ErrUnsupported, "class posix.system is not allowed"},
		{"builtins.eval in Python 2's name", "c__builtin__\neval\n)R.", ir.ErrUnsupported, "class builtins.eval is not allowed"},
		{"all refused names at once", "ca\nb\ncc.d\ne\ncos\nsystem\n.", ir.ErrUnsupported, "class a.b, c.d.e, os.system is not allowed"},
		{"a name that plays with the terminal", "c\x1b[2J\nx\n.", ir.ErrUnsupported, `class \x1b[2J.x is not allowed`},
		{"INST", "(i__main__\nC\n.", ir.ErrUnsupported, "operation 0x69 is not allowed"},
		{"STACK_GLOBAL", "\x80\x04" + text("os") + text("system") + "\x93.", ir.ErrUnsupported, "operation 0x93 is not allowed"},
		{"EXT1", "\x82\x01.", ir.ErrUnsupported, "operation 0x82 is not allowed"},
		{"a call of data", text("x") + ")R.", ir.ErrUnsupported, "expected a function or class to call, got a string"},
		{"a call without a tuple", "ccollections\nOrderedDict\nNR.", ir.ErrFormat, "expected a tuple of arguments, got None"},
		{"state of a list", "]}b.", ir.ErrUnsupported, "expected an ordered dict to give attributes to, got a list"},
		{"append to a tuple", ")Na.", ir.ErrUnsupported, "expected a list to append to, got a tuple"},
		{"item of a list", "]NNs.", ir.ErrUnsupported, "expected a dict to store items in, got a list"},
		{"a list as key", "}]Ns.", ir.ErrUnsupported, "as the key of a dict, got a list"},
		{"an odd number of items", "}(Nu.", ir.ErrFormat, "expected a value for each key"},
		{"below the mark", "N(\x85.", ir.ErrFormat, "expected 1 values on the stack, got 0"},
		{"no mark", "Nt.", ir.ErrFormat, "expected a mark"},
		{"an empty memo", "h\x00.", ir.ErrFormat, "never stored"},
		{"a giant string", "X\xff\xff\xff\x7fabc.", ir.ErrFormat, "expected a string of at most"},
		{"bytearray(n)", "c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.", ir.ErrFormat, "expected 2 to 2 arguments"},
		{"a storage out of nowhere", text("storage") + "\x85Q.", ir.ErrFormat, "expected no persistent id"},
		{"no UTF-8", "X\x01\x00\x00\x00\xff.", ir.ErrUnsupported, "UTF-8"},
		{"a key that is not itself", "}G\x7f\xf8\x00\x00\x00\x00\x00\x00Ns.", ir.ErrUnsupported, "got nan"},
		{"a name without end", "c" + strings.Repeat("a", 5000), ir.ErrFormat, "within 1024 bytes"},
		{"deep nesting", strings.Repeat("]", 5000) + strings.Repeat("a", 4999) + ".", ir.ErrFormat, "nested at most 1000 deep"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := unpickleText(tc.pickle)
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

// TestPickleCopies repeats a call that copies a value, a few bytes each time.
func TestPickleCopies(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	again := strings.Repeat("h\x00h\x01R", 1000)
	pickle := "c_codecs\nencode\nq\x00" + text(long) + text("latin1") + "\x86q\x01" + again + "."
	atMost(t, func() {
		_, err := unpickleText(pickle)
		require.ErrorIs(t, err, ir.ErrFormat)
		assert.ErrorContains(t, err, "copies of copies")
	})
}

func TestPickleMemo(t *testing.T) {
	v, err := unpickleText("]r\xff\xff\xff\xff(j\xff\xff\xff\xff" + "K\x01e.")
	require.NoError(t, err)
	list, ok := v.([]any)
	require.True(t, ok)
	require.Len(t, list, 2)
	assert.Equal(t, int64(1), list[1])
	inner, ok := list[0].([]any)
	require.True(t, ok)
	assert.Same(t, &list[0], &inner[0], "the list holds itself")
}

func TestPickleRemembersAttributes(t *testing.T) {
	u := &unpickler{}
	v, n, err := u.unpickle([]byte("ccollections\nOrderedDict\n)R}" + text("a") + "K\x05sb.rest"))
	require.NoError(t, err)
	assert.Equal(t, len("ccollections\nOrderedDict\n)R}")+len(text("a"))+len("K\x05sb."), n)
	got, ok := u.attrs[v.(*ir.PyDict)].Get("a")
	assert.True(t, ok)
	assert.Equal(t, int64(5), got)
}

// TestPickleTensorBounds makes tensors that do not lie inside their storage.
func TestPickleTensorBounds(t *testing.T) {
	tests := []struct{ name, offset, size, stride, says string }{
		{"fits", "K\x00", "K\x02\x85", "K\x01\x85", ""},
		{"too long", "K\x00", "K\x03\x85", "K\x01\x85", "do not lie inside a storage of 8 bytes"},
		{"offset", "K\x01", "K\x02\x85", "K\x01\x85", "do not lie inside"},
		{"stride", "K\x00", "K\x02\x85", "K\x02\x85", "do not lie inside"},
		{"negative offset", "J\xff\xff\xff\xff", "K\x02\x85", "K\x01\x85", "expected a storage offset of 0 or more, got -1"},
		{"negative size", "K\x00", "J\xff\xff\xff\xff\x85", "K\x01\x85", "expected sizes and strides of 0 or more, got -1"},
		{"negative stride", "K\x01", "K\x02\x85", "J\xff\xff\xff\xff\x85", "expected sizes and strides of 0 or more"},
		{"strides are missing", "K\x00", "K\x02\x85", ")", "expected as many strides as sizes"},
		{"overflow", "K\x00", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x03\x86", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x01\x86", "do not lie inside"},
		{"empty but huge", "K\x00", "K\x00\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x86", "K\x01K\x01\x86", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			u := &unpickler{storage: func(ir.PyTuple) (any, error) {
				return &storageRef{storage: NewStorage(make([]byte, 8)), dtype: ir.Float32, size: 8}, nil
			}}
			pickle := "ctorch._utils\n_rebuild_tensor_v2\n(" + ")Q" + tc.offset + tc.size + tc.stride + "\x89NtR."
			v, _, err := u.unpickle([]byte(pickle))
			if tc.says != "" {
				require.ErrorIs(t, err, ir.ErrFormat)
				assert.ErrorContains(t, err, tc.says)
				return
			}
			require.NoError(t, err)
			_, err = v.(*Tensor).Bytes()
			require.NoError(t, err)
		})
	}
}

// TestLegacyViews reads views of storages, which torch wrote before 0.4.
func TestLegacyViews(t *testing.T) {
	file := func(view string) []byte {
		var b bytes.Buffer
		b.WriteString(legacyMagic + "\x80\x02M\xe9\x03.\x80\x02}.\x80\x02")
		b.WriteString("ctorch._utils\n_rebuild_tensor\n((" + text("storage") + "ctorch\nFloatStorage\n" + text("7") + text("cpu") + "K\x04" + view + "tQ")
		b.WriteString("K\x00K\x02\x85K\x01\x85tR.")
		b.WriteString("\x80\x02]" + text("7") + "a.")
		b.Write(binary.LittleEndian.AppendUint64(nil, 4))
		for i := range 4 {
			b.Write([]byte{byte(i), 0, 0, 0})
		}
		return b.Bytes()
	}
	s, err := readSave(file(text("v") + "K\x02K\x02\x87"))
	require.NoError(t, err)
	x := s.Value.(*Tensor)
	assert.True(t, s.Legacy)
	assert.Equal(t, int64(2), x.Offset)
	data, err := x.Bytes()
	require.NoError(t, err)
	assert.Equal(t, []byte{2, 0, 0, 0, 3, 0, 0, 0}, data)

	for i, view := range []string{text("v") + "K\x03K\x02\x87", text("v") + "K\x02J\xff\xff\xff\xff\x87", "K\x01"} {
		_, err = readSave(file(view))
		require.ErrorIs(t, err, ir.ErrFormat, fmt.Sprint(i))
	}
	_, err = readSave(file(text("v") + "K\x02K\x01\x87"))
	assert.ErrorContains(t, err, "do not lie inside a storage of 4 bytes")
}
