package export

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRandomEdits damages real files in many ways: none may crash the reader or
// cost more than a broken file may. Seeds are fixed.
func TestRandomEdits(t *testing.T) {
	var files []string
	for _, f := range []string{"2.5.1/cond_if", "2.6.0/tied_weights", "2.7.1/dynamic_derived", "2.8.0/nonpersistent_buffer", "2.15.0/buffer_mutation_functional"} {
		files = append(files, filepath.Join(fixtures(t, "pt2"), filepath.FromSlash(f), "model.pt2"))
	}
	for _, f := range []string{"checkpoint", "containers", "views", "legacy_checkpoint", "legacy_views"} {
		files = append(files, filepath.Join("testdata", "torchsave", f+".pt"))
	}
	opened := 0
	for i, file := range files {
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(1, uint64(i)))
		for range 100 {
			data := damage(random, whole)
			atMost(t, func() {
				if strings.HasSuffix(file, ".pt2") {
					p, err := Read(bytes.NewReader(data), int64(len(data)), SkipChecksums())
					if err == nil {
						holdsTogether(t, p)
						opened++
					}
					return
				}
				s, err := readSave(data, SkipChecksums())
				if err == nil {
					savedHoldsTogether(t, s)
					opened++
				}
			})
		}
	}
	assert.NotZero(t, opened, "some damage is none")
}

// damage flips, cuts, swaps or repeats bytes, a few times over.
func damage(random *rand.Rand, whole []byte) []byte {
	data := bytes.Clone(whole)
	for range 1 + random.IntN(4) {
		if len(data) < 16 {
			break
		}
		a, b := random.IntN(len(data)), random.IntN(len(data))
		n := 1 + random.IntN(8)
		a, b = min(a, len(data)-n), min(b, len(data)-n)
		switch random.IntN(5) {
		case 0:
			data[a] ^= 1 << random.IntN(8)
		case 1:
			data = append(data[:a:a], data[a+n:]...)
		case 2:
			chunk := bytes.Clone(data[a : a+n])
			copy(data[a:], data[b:b+n])
			copy(data[b:], chunk)
		case 3:
			data = append(data[:a:a], append(bytes.Clone(data[b:b+n]), data[a:]...)...)
		case 4:
			data[a] = byte(random.IntN(256))
		}
	}
	return data
}

// TestDeflatedTwice refuses what could grow a thousandfold twice.
func TestDeflatedTwice(t *testing.T) {
	inner := takeApartFile(t, filepath.Join("testdata", "torchsave", "state_dict.pt"))
	inner.method = 8
	s, err := inner.openSave()
	require.NoError(t, err, "once is fine")
	require.NoError(t, s.Close())

	z := takeApartFile(t, filepath.Join(fixtures(t, "pt2/2.8.0"), "linear_relu", "model.pt2"))
	z.records["data/weights/model.pt"] = inner.bytes()
	_, err = z.open()
	assert.ErrorContains(t, err, "weight 0.weight: graph and state dict disagree: sizes [3 4] in the graph, [2 3] in the state dict")
	z.method = 8
	_, err = z.open()
	assert.ErrorContains(t, err, "is deflated in an archive that is deflated itself")
}
