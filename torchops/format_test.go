package torchops

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// printCase is a tensor and what Python printed, as testdata/record_print.py
// writes it.
type printCase struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Sizes []int  `json:"sizes"`
	Data  []byte `json:"-"` // all elements
	Meta  bool   `json:"meta"`
	Text  string `json:"text"`
	dt    DType
}

func readPrintCases(t *testing.T) []printCase {
	t.Helper()
	file, err := os.Open("testdata/print.jsonl")
	require.NoError(t, err)
	defer file.Close()
	var cases []printCase
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			printCase
			Base64 string `json:"data"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		c.dt, err = ir.ParseDType(c.DType)
		require.NoError(t, err, c.Name)
		data, err := base64.StdEncoding.DecodeString(c.Base64)
		require.NoError(t, err, c.Name)
		n, err := numelOf(c.Sizes, c.dt)
		require.NoError(t, err, c.Name)
		if size := n * c.dt.Size(); len(data) > 0 {
			c.Data = bytes.Repeat(data, size/len(data)+1)[:size]
		}
		cases = append(cases, c.printCase)
	}
	require.NoError(t, lines.Err())
	require.Greater(t, len(cases), 700)
	return cases
}

// summarized drops the elements that a long tensor does not print, as print.go
// does with operators.
func summarized(sizes []int, data []byte, element int) []byte {
	if len(sizes) == 0 {
		return data[:element]
	}
	step := element
	for _, s := range sizes[1:] {
		step *= s
	}
	var kept []byte
	for i := range sizes[0] {
		if sizes[0] <= 2*printEdge || i < printEdge || i >= sizes[0]-printEdge {
			kept = append(kept, summarized(sizes[1:], data[i*step:], element)...)
		}
	}
	return kept
}

func TestFormatIsPythons(t *testing.T) {
	for _, c := range readPrintCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			p := printed{dtype: c.dt, sizes: c.Sizes}
			if c.Meta {
				p.device = ir.NewDevice(ir.DeviceMeta, -1)
			} else if n := p.numel(); n > 0 {
				data := c.Data
				if n > printThreshold {
					data = summarized(c.Sizes, data, c.dt.Size())
				}
				p.re, p.im, p.text = decodeElements(c.dt, data)
			}
			assert.Equal(t, c.Text, p.format())
		})
	}
}
