package torchops

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// signaturesText holds the signatures of the functions and methods that Python
// binds to C++; scripts/gensignatures makes it and describes it.
//
//go:embed signatures.txt
var signaturesText string

// signatureIndex maps a name to its lines in the table.
var signatureIndex = sync.OnceValue(func() map[string]string {
	index := make(map[string]string, 1800)
	name, start, at := "", 0, 0
	for line := range strings.Lines(signaturesText) {
		if line[0] != '\t' {
			if name != "" {
				index[name] = signaturesText[start:at]
			}
			name, start = strings.TrimRight(line, "\n"), at+len(line)
			if line[0] == '#' {
				name = ""
			}
		}
		at += len(line)
	}
	index[name] = signaturesText[start:at]
	return index
})

// readSignatures reads the lines of a name.
func readSignatures(name, lines string) ([]*signature, error) {
	function := name[strings.LastIndexByte(name, '.')+1:]
	list := make([]*signature, 0, 4)
	for line := range strings.Lines(lines) {
		columns := strings.Split(strings.Trim(line[1:], "\n"), "\t")
		s, err := readSignature(function, columns[0])
		if err != nil {
			return nil, err
		}
		if len(columns) < 2 {
			return nil, ir.Errorf(ir.ErrFormat, "signature of %s: expected an operator, got %q", name, line)
		}
		s.op = "aten::" + columns[1]
		if len(columns) > 2 && columns[2] != "" {
			s.outOp = "aten::" + columns[2]
			if s.out < 0 {
				s.out = s.place("grad_input") // what _softmax_backward_data calls it
			}
		}
		if len(columns) > 3 {
			s.hidden, s.call = true, strings.Split(columns[3], ", ")
		}
		list = append(list, s)
	}
	return list, nil
}
