package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/install"
)

// A regionLibrary is the second library that set-up compiles, on kernels of its own. It
// makes some models faster and nothing possible, so nothing that goes wrong with it
// fails a set-up: the record keeps the reason instead, and the next set-up tries
// again.
type regionLibrary struct {
	library
	kernels []component // the kernels' library and its headers
	dir     string      // in the home, where they are unpacked
	include string      // below dir
	lib     string      // below dir
	// try loads a compiled delegate, runs a region and returns its name and version
	try func(file string) (string, error)
}

// OneDNNVersion is the release of oneDNN that the delegate is made for, as its
// wheels count (oneDNN 3.2).
const OneDNNVersion = "2023.2.0"

// theDelegate is that on oneDNN. The wheels hold three copies of the library, of which
// one is unpacked.
var theDelegate = &regionLibrary{
	library: library{"the delegate", libtorch.DelegateName, libtorch.DelegateSources(), libtorch.DelegateCompileSteps},
	kernels: []component{
		{
			name:  "onednn-cpu-gomp",
			wheel: wheel{"onednn-cpu-gomp", OneDNNVersion, "manylinux1_x86_64", "2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb", 38888991},
			keep: func(file string) bool {
				return strings.HasSuffix(file, "/data/lib/libdnnl.so.3") || strings.Contains(file, "/share/doc/onednn/") || strings.HasSuffix(file, "/LICENSE.txt")
			},
			unpacked: 55e6,
		},
		{
			name:     "onednn-devel-cpu-gomp",
			wheel:    wheel{"onednn-devel-cpu-gomp", OneDNNVersion, "manylinux1_x86_64", "9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284", 188103},
			keep:     func(file string) bool { return strings.Contains(file, "/data/include/") },
			unpacked: 1e6,
		},
	},
	dir:     "onednn-" + OneDNNVersion,
	include: "onednn_devel_cpu_gomp-" + OneDNNVersion + ".data/data/include",
	lib:     "onednn_cpu_gomp-" + OneDNNVersion + ".data/data/lib",
	try:     tryRegion,
}

const leftOut = "left out by --no-delegate"

// delegateKey names a delegate compiled for the libtorch in t.
func (s *session) delegateKey(t *tree, compilerVersion string) (string, error) {
	d := s.platform.delegate
	facts := []string{t.libDir(), compilerVersion}
	for _, c := range d.kernels {
		facts = append(facts, c.wheel.sha256)
	}
	return d.key([]string{d.include}, d.lib, facts...)
}

// delegateIsCurrent reports whether adding the delegate would change nothing.
func (s *session) delegateIsCurrent(rec *install.Record, t *tree, compilerVersion string) (bool, error) {
	if s.platform.delegate == nil {
		return true, nil
	}
	if s.NoDelegate {
		return rec.Delegate == "" && rec.DelegateNote == leftOut, nil
	}
	key, err := s.delegateKey(t, compilerVersion)
	return err == nil && key == rec.DelegateKey && isFile(rec.Delegate), err
}

// addDelegate fetches, compiles and tries the delegate, and notes it or what went
// wrong in the record. An error is that of ctx.
func (s *session) addDelegate(ctx context.Context, cxx *compiler, t *tree, rec *install.Record) error {
	if s.platform.delegate == nil {
		return nil
	}
	about, err := s.makeDelegate(ctx, cxx, t, rec)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		rec.Delegate, rec.DelegateKey = "", ""
		rec.DelegateNote = oneLine(s.explain(err))
		about = "none, libtorch runs everything: " + rec.DelegateNote
		s.show.Say("delegate: " + about)
	}
	rec.Extra["delegate"] = about
	return nil
}

// makeDelegate returns the name and version of a delegate that works.
func (s *session) makeDelegate(ctx context.Context, cxx *compiler, t *tree, rec *install.Record) (string, error) {
	if s.NoDelegate {
		return "", errors.New(leftOut)
	}
	d := s.platform.delegate
	key, err := s.delegateKey(t, cxx.version)
	if err != nil {
		return "", err
	}
	kernels := filepath.Join(s.home, d.dir)
	if err := s.downloadParts(ctx, d.kernels, kernels); err != nil {
		return "", err
	}
	dir := filepath.Join(s.home, "delegate", key)
	file := filepath.Join(dir, d.name)
	if !isFile(file) {
		start := time.Now()
		if err := d.compile(ctx, cxx, []string{filepath.Join(kernels, d.include)}, filepath.Join(kernels, d.lib), file, s.stage, s.show); err != nil {
			return "", err
		}
		if err := linkFiles(dir, kernels, d.lib, t.libDir()); err != nil {
			return "", err
		}
		s.show.Say(fmt.Sprintf("delegate: compiled by %s in %.0f s", cxx, time.Since(start).Seconds()))
	}
	about, err := d.try(file)
	if err != nil {
		os.RemoveAll(dir) // the next set-up compiles anew
		return "", err
	}
	rec.Delegate, rec.DelegateKey = file, key
	return about, nil
}

// linkFiles puts what the delegate needs beside it, where its run path looks: the
// kernels' library, and libtorch's OpenMP runtime under the name by which that library asks
// for it. The wheels of libtorch have had it under a name of their own, and then the
// system's would come as a second one.
func linkFiles(dir, kernels, lib, libDir string) error {
	link := func(target, name string) error {
		if rel, err := filepath.Rel(dir, target); err == nil && !strings.HasPrefix(rel, filepath.Join("..", "..", "..")) {
			target = rel // so that the home may be moved as a whole
		}
		name = filepath.Join(dir, name)
		os.Remove(name)
		return os.Symlink(target, name)
	}
	entries, err := os.ReadDir(filepath.Join(kernels, lib))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := link(filepath.Join(kernels, lib, e.Name()), e.Name()); err != nil {
			return err
		}
	}
	needs, _, err := neededOf(filepath.Join(libDir, libName("torch_cpu")))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(needs, func(lib string) bool { return strings.HasPrefix(lib, "libgomp") })
	if i < 0 || !isFile(filepath.Join(libDir, needs[i])) {
		return nil // the system's, for both
	}
	return link(filepath.Join(libDir, needs[i]), "libgomp.so.1")
}

// tryDelegate says what the recorded delegate is, or why there is none.
func (s *session) tryDelegate(rec *install.Record) string {
	switch {
	case s.platform.delegate == nil:
		return "none: oneDNN's kernels are not published for this platform"
	case rec.Delegate == "" && rec.DelegateNote == "":
		return "none: torchfx setup makes it"
	case rec.Delegate == "":
		return "none: " + rec.DelegateNote
	}
	about, err := s.platform.delegate.try(rec.Delegate)
	if err != nil {
		return "none: " + oneLine(err)
	}
	return about + ", " + rec.Delegate
}

// oneLine is an error without the ways out that its Failure lists.
func oneLine(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		what := *f
		what.Fix = nil
		err = &what
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
