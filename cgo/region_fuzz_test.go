package libtorch

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/cgo/delegate"
)

// FuzzRegionWords gives the delegate words that no builder made. It must refuse
// them with a message or make a region of them; a region must be prepared for small
// inputs, or refused, and run.
func FuzzRegionWords(f *testing.F) {
	var cases []regionCase
	for _, all := range [][]regionCase{convolutionCases(), poolCases(), arithmeticCases(), shapeCases(), {blockCase(), squeezeCase(), twiceCase()}} {
		cases = append(cases, all...)
	}
	for _, c := range cases {
		words, err := c.program(delegate.AnyLayout, delegate.Fastest).Words()
		require.NoError(f, err)
		f.Add(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words)))
	}
	d := openDelegate(f)
	const most = 4 // inputs and constants there are
	inputs := []*Tensor{random(f, 1, 1, 8, 6, 6), random(f, 2, 1, 8, 6, 6), random(f, 3, 4, 8), random(f, 4, 2, 8, 12)}
	constants := []*Tensor{random(f, 5, 8, 8, 3, 3), random(f, 6, 8), random(f, 7, 8, 8, 1, 1), random(f, 8, 16, 8)}
	at, err := tensorWords(constants)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		words := make([]int64, len(data)/8)
		for i := range words {
			words[i] = int64(binary.NativeEndian.Uint64(data[8*i:]))
		}
		if len(words) < 5 || words[3] > most || words[4] > most || words[3] < 0 || words[4] < 0 {
			return // counts that do not go with the tensors are refused before anything is read
		}
		ptr, err := compileWords(d, words, at, int(words[4]))
		if err != nil {
			return
		}
		r := &Region{delegate: d, inputs: int(words[3]), region: own(ptr, func(p unsafe.Pointer) { releaseRegion(d, p) })}
		defer r.Close()
		class, err := r.Prepare(inputs[:words[3]], 1)
		if err != nil {
			return
		}
		defer class.Close()
		total := class.Scratch
		for _, o := range class.Outputs {
			total += o.Bytes
		}
		if total > 1<<24 {
			return // a region may need much memory, and a fuzzer has little
		}
		out, err := class.Run(t.Context(), inputs[:words[3]])
		require.NoError(t, err, class.Describe())
		closeTensors(out)
	})
}
