package parity

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// Operators is the layout of recorded operator calls: a folder with files of
// calls, a line each, and one file of tensors. A case is all calls of one function
// in one of the files.
const Operators Kind = "ops"

// The files of calls: as the dispatcher received them, as a user wrote them, and
// those that raised.
const (
	atenCalls   = "aten.jsonl"
	publicCalls = "public.jsonl"
	errorCalls  = "errors.jsonl"
)

func isCalls(name string) bool {
	return name == atenCalls || name == publicCalls || name == errorCalls
}

// Bounds of what is read: recorded files have below 4 MB, lines below 100 kB.
const (
	maxCallLine    = 16 << 20
	maxCallTensors = 1 << 30
)

// A callGroup is the calls of one function.
type callGroup struct {
	lines   []callLine
	tensors func() (map[string][]byte, error)
}

// A callLine is one recorded call with its place in the file.
type callLine struct {
	number int
	text   []byte
}

// readCalls returns a case for each function of a file of calls.
func readCalls(root, path string, only *regexp.Regexp) ([]*Case, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	dir := filepath.Dir(path)
	tensors := sync.OnceValues(func() (map[string][]byte, error) { return readCallTensors(dir) })
	groups := map[string]*callGroup{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxCallLine)
	for n := 1; lines.Scan(); n++ {
		var call struct{ Fn string }
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil || call.Fn == "" {
			return nil, ir.Errorf(ir.ErrFormat, "%s: line %d: expected a recorded call with the name of a function: %v", path, n, err)
		}
		g := groups[call.Fn]
		if g == nil {
			g = &callGroup{tensors: tensors}
			groups[call.Fn] = g
		}
		g.lines = append(g.lines, callLine{n, bytes.Clone(lines.Bytes())})
	}
	if err := lines.Err(); err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "%s: %w", path, err)
	}
	prefix := caseName(root, dir)
	if prefix == "." {
		prefix = filepath.Base(absolute(dir))
	}
	prefix += "/" + strings.TrimSuffix(filepath.Base(path), ".jsonl") + "/"
	var cases []*Case
	for _, fn := range slices.Sorted(maps.Keys(groups)) {
		c := &Case{Dir: dir, Name: prefix + fn, Kind: Operators, calls: groups[fn]}
		if only == nil || only.MatchString(c.Name) {
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// readCallTensors reads the flat tensors of all calls as bytes.
func readCallTensors(dir string) (map[string][]byte, error) {
	name := filepath.Join(dir, "tensors.safetensors")
	if info, err := os.Stat(name); err == nil && info.Size() > maxCallTensors {
		return nil, ir.Errorf(ir.ErrFormat, "%s: expected at most %d bytes, got %d", name, maxCallTensors, info.Size())
	}
	f, err := openTensors(name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	data := map[string][]byte{}
	for _, key := range f.file.Names() {
		elements, err := f.bytes(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, key, err)
		}
		data[key] = bytes.Clone(elements)
	}
	return data, nil
}

// mostFaults is how many calls of a function a report describes.
const mostFaults = 10

// replayCalls replays the calls of one function.
func (c *Case) replayCalls(ctx context.Context, res *Result) {
	data, err := c.calls.tensors()
	if err != nil {
		res.fault("tensors: %v", err)
		return
	}
	failed := 0
	for _, line := range c.calls.lines {
		if ctx.Err() != nil {
			return
		}
		if wrong := replayCall(data, line.text); wrong != "" {
			if failed++; failed <= mostFaults {
				res.fault("line %d: %s", line.number, wrong)
			}
		}
	}
	if failed > mostFaults {
		res.fault("and %d more calls", failed-mostFaults)
	}
	switch n := len(c.calls.lines); {
	case failed > 0:
		res.Note = fmt.Sprintf("%d of %s", failed, plural(n, "call"))
	default:
		res.Note = plural(n, "call")
	}
}
