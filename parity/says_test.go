package parity

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnsaid(t *testing.T) {
	tests := []struct {
		name, says, message string
		missing             []string
	}{
		{"names and words", "record data/weights/weight_0 declares more bytes than the file has",
			"record data/weights/weight_0: declares 4294967280 bytes, more than the file has (6880)", nil},
		{"a name is missing", "weight l.weight is in the signature but not in the weights config",
			"a weight of the signature is not in the weights config", []string{"l.weight"}},
		{"a number inside another does not count", "archive_version 7 is not supported (0 is)",
			"archive_version: 17 is not supported", []string{"7"}},
		{"remarks do not count", "checksum of record data/weights/weight_0 is wrong (unless the caller turned checksums off)",
			"record data/weights/weight_0: checksum is wrong: expected 1, got 2", nil},
		{"the default overload goes without saying", "node linear: unknown operator aten::lineaar.default",
			"node linear: operator aten::lineaar is unknown; nearest is aten::linear", nil},
		{"the word after node is a name", "node linear, argument weight: unknown argument kind as_quaternion",
			"node relu, argument weight: argument kind as_quaternion is unknown", []string{"linear"}},
		{"one side of an alternative is enough", "not a zip archive / truncated: no end of central directory",
			"truncated archive: the end of the central directory is missing", nil},
		{"two dots are a name", "record name with .. or absolute path", "record name \"../evil.txt\": has .. in it\nrecord name \"/etc/evil\": is an absolute path", nil},
		{"capitals make a name, but any case is fine", "this is a TorchScript archive, not an exported program",
			"file is a torchscript archive: expected an exported program", nil},
		{"a generic message tells nothing", "signature and graph disagree: 3 inputs, 2 input specs",
			"the file cannot be read", []string{"3", "2", "signature", "graph", "disagree", "inputs", "input", "specs"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.missing, unsaid(tc.message, tc.says))
		})
	}
}
