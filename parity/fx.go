package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// FX is the layout of a recorded graph of torch.fx: the program, the nodes that
// it made with all of their texts, and for some what a run computed, the graph
// before a transformation, or the folder that it was saved to.
const FX Kind = "fx"

// isFX reports whether dir holds a recorded case of torch.fx.
func isFX(dir string) bool {
	if !fileExists(filepath.Join(dir, "program.py")) {
		return false
	}
	return slices.ContainsFunc([]string{"nodes.json", "result.json", "error.json"}, func(name string) bool {
		return fileExists(filepath.Join(dir, name))
	})
}

// replayFX replays what the files of a case determine: texts from nodes, nodes
// from code, tables, saved folders, runs. What takes the program itself, its
// transformation or its error, a Go test has to check; the note names it. A case
// that is nothing but its program is skipped.
func (c *Case) replayFX(ctx context.Context, res *Result) {
	name := filepath.Base(c.Dir)
	switch {
	case fileExists(filepath.Join(c.Dir, "error.json")):
		res.skip(programNote(name, "a program and its error"))
		return
	case !fileExists(filepath.Join(c.Dir, "nodes.json")):
		replayTable(c, res)
		return
	}
	r := &fxReplay{c: c, res: res}
	if slices.Contains(notInFiles, name) {
		res.skip(programNote(name, "a program") + "; the files do not determine all texts")
		return
	}
	r.graphs("")
	if fileExists(filepath.Join(c.Dir, "before", "nodes.json")) {
		r.graphs("before")
		r.owes("transformation")
	} else if fileExists(filepath.Join(c.Dir, "result.json")) {
		r.owes("result")
	}
	if len(res.Faults) > 0 {
		return
	}
	if info, err := os.Stat(filepath.Join(c.Dir, "folder")); err == nil && info.IsDir() {
		r.folder()
	}
	if fileExists(filepath.Join(c.Dir, "io.json")) {
		r.run(ctx)
	}
	r.close()
}

// skip says why a case is not replayed.
func (r *Result) skip(why string) { r.Status, r.Note = Skipped, why }

// An fxReplay is the replay of one case with graphs.
type fxReplay struct {
	c     *Case
	res   *Result
	main  *fxGraph
	did   []string // what was compared, for the note
	nodes int
	count int
}

// owes notes what a Go test must check.
func (r *fxReplay) owes(what string) {
	r.did = append(r.did, "its "+what+": "+programNote(filepath.Base(r.c.Dir), "a program"))
}

// close writes the note.
func (r *fxReplay) close() {
	texts := plural(r.count, "graph") + ", " + plural(r.nodes, "node")
	r.res.Note = strings.Join(append([]string{texts}, r.did...), ", ")
}

// graphs compares the graph in a folder of the case, and those below it, with
// their recorded texts.
func (r *fxReplay) graphs(sub string) {
	g, err := readFXGraph(filepath.Join(r.c.Dir, sub), r.c.Dir)
	if err != nil {
		r.res.fault("%v", err)
		return
	}
	if sub == "" {
		r.main = g
	}
	r.compare(sub, g)
}

func (r *fxReplay) compare(path string, g *fxGraph) {
	r.count++
	r.nodes += g.module.Graph().Len()
	for _, fault := range g.check() {
		if path != "" {
			fault = path + ": " + fault
		}
		r.res.fault("%s", fault)
	}
	for _, s := range g.subs {
		r.compare(strings.TrimPrefix(path+"."+s.path, "."), s.graph)
	}
}

// notInFiles are the cases whose files do not determine all of their texts.
var notInFiles = []string{
	"codegen_boxed_arg", "codegen_custom_list", "codegen_lineno_map", "doc_on_generate_code", "readable_metadata",
}

// readJSON reads a file of a case, which must not be larger than recorded ones
// ever are.
func readJSON(name string, into any) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.Size() > maxMeta {
		return ir.Errorf(ir.ErrFormat, "%s: expected at most %d bytes, got %d", name, maxMeta, info.Size())
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return ir.Errorf(ir.ErrFormat, "%s: %w", name, err)
	}
	return nil
}

// firstDifference tells where two texts part.
func firstDifference(what, got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			return fmt.Sprintf("%s, line %d: expected %q, got the end", what, i+1, w[i])
		case i >= len(w):
			return fmt.Sprintf("%s, line %d: expected the end, got %q", what, i+1, g[i])
		case g[i] != w[i]:
			return fmt.Sprintf("%s, line %d: expected %q, got %q", what, i+1, w[i], g[i])
		}
	}
	return ""
}
