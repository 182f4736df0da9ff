package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/torchfx-go/torchfx/internal/install"
)

// Options say what to set up. The zero value is right for most machines.
type Options struct {
	Home     string   // where to; default install.Home()
	CUDA     bool     // also what programs on a GPU need
	Download bool     // the official wheel, even where LIBTORCH or a Python has a torch
	Report   Reporter // shows progress; nil: silence

	// NoDelegate leaves out the delegate on oneDNN, which is fetched and compiled where
	// that is possible: libtorch then runs everything.
	NoDelegate bool

	bridge   *bridge // tests put small ones here
	platform *platform
}

// A Result says what a machine is set up with.
type Result struct {
	Home    string
	Record  *install.Record
	Changed bool // false: all was there already
}

// Run sets up torchfx in the home folder and returns the record it wrote, or the
// one that was there and is current. See the package comment for what it does in
// which order; it may be called again at any time, by several processes too.
//
// An error is a [*Failure] where something is missing on the machine. When ctx
// ends, the running pip or compiler is stopped and ctx's error returned; what was
// complete until then stays for the next call.
func Run(ctx context.Context, o Options) (*Result, error) {
	s, err := newSession(o)
	if err != nil {
		return nil, err
	}
	if r, err := s.current(ctx); r != nil || err != nil {
		return r, err
	}
	if err := s.platform.checkLibC(ctx); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.home, 0o755); err != nil {
		return nil, s.explain(err)
	}
	release, err := lock(ctx, s.home, func() {
		s.show.Say("another torchfx setup works in " + s.home + "; waiting for it")
	})
	if err != nil {
		return nil, s.explain(err)
	}
	defer release()
	// whoever held the lock may have done it all
	if r, err := s.current(ctx); r != nil || err != nil {
		return r, err
	}
	if err := s.emptyStage(); err != nil {
		return nil, s.explain(err)
	}
	defer os.RemoveAll(s.stage)
	r, err := s.install(ctx)
	return r, s.explain(err)
}

// A session is one call of Run.
type session struct {
	Options
	home  string
	stage string // half-done files, emptied by whoever holds the lock
	show  Reporter
}

func newSession(o Options) (*session, error) {
	s := &session{Options: o, home: o.Home, show: o.Report}
	if s.platform == nil {
		p, err := currentPlatform(runtime.GOOS, runtime.GOARCH)
		if err != nil {
			return nil, err
		}
		s.platform = p
	}
	if s.home == "" {
		s.home = install.Home()
	}
	if s.home == "" {
		return nil, &Failure{What: "no folder to set up in: the system names no cache folder", Fix: []string{"TORCHFX_HOME=/some/folder torchfx setup"}}
	}
	if s.show == nil {
		s.show = silent{}
	}
	if s.bridge == nil {
		s.bridge = theBridge
	}
	s.stage = filepath.Join(s.home, ".partial")
	if o.CUDA && s.platform.cuda == nil {
		return nil, &Failure{What: fmt.Sprintf("there is no CUDA for %s/%s", runtime.GOOS, runtime.GOARCH), Fix: []string{"torchfx setup, without --cuda"}}
	}
	return s, nil
}

func (s *session) emptyStage() error {
	if err := os.RemoveAll(s.stage); err != nil {
		return err
	}
	return os.MkdirAll(s.stage, 0o755)
}

// current returns the record in the home when nothing would change by setting up
// again, else nil.
func (s *session) current(ctx context.Context) (*Result, error) {
	rec, err := install.Read(s.home)
	if err != nil || !isFile(rec.Bridge) {
		return nil, nil // absent, damaged or newer: set up anew
	}
	t, err := s.recorded(rec)
	if t == nil || err != nil {
		return nil, err
	}
	version := rec.Compiler // a machine may lose its compiler once the bridge is there
	if cxx, err := findCompiler(ctx); err == nil {
		version = cxx.version
	}
	key, err := s.bridge.bridgeKey(t, version)
	if err != nil || key != rec.BridgeKey || s.graphsMissing(t, rec.Bridge) && rec.Extra["graphs"] == "" {
		return nil, err
	}
	if ok, err := s.delegateIsCurrent(rec, t, version); !ok || err != nil {
		return nil, err
	}
	return &Result{Home: s.home, Record: rec}, nil
}

// recorded returns the libtorch of a record if it is still what [session.find]
// would take, else nil.
func (s *session) recorded(rec *install.Record) (*tree, error) {
	env := os.Getenv("LIBTORCH")
	switch {
	case env != "" && !s.Download:
		t, err := given(env)
		if err != nil {
			return nil, err
		}
		if t.dir != rec.TorchDir || s.CUDA && !t.cuda {
			return nil, nil
		}
		return t, nil
	case rec.Source == install.Downloaded:
		return s.platform.downloaded(s.home, s.CUDA), nil
	case rec.Source == install.Python && !s.Download:
		t, err := openTree(rec.TorchDir, install.Python)
		if err != nil || t.version != TorchVersion || s.CUDA && !t.cuda {
			return nil, nil
		}
		return t, nil
	}
	return nil, nil
}

// install finds libtorch, compiles the bridge, tries both and writes the record.
func (s *session) install(ctx context.Context) (*Result, error) {
	if !s.platform.tested {
		s.show.Say(fmt.Sprintf("%s/%s takes the same route as linux/amd64 and is untested", runtime.GOOS, runtime.GOARCH))
	}
	// before half a gigabyte is fetched
	cxx, err := findCompiler(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	key, err := s.bridge.bridgeKey(t, cxx.version)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(s.home, "bridge", key, s.bridge.name)
	if isFile(file) {
		s.show.Say("bridge: compiled before, " + file)
	} else {
		start := time.Now()
		if err := s.bridge.compile(ctx, cxx, t.includeDirs(), t.libDir(), file, s.stage, s.show); err != nil {
			return nil, err
		}
		s.show.Say(fmt.Sprintf("bridge: compiled by %s in %.0f s", cxx, time.Since(start).Seconds()))
	}
	var noGraphs string
	if s.graphsMissing(t, file) {
		// what is faster with it works without
		err := s.bridge.graphs.compile(ctx, cxx, append(t.includeDirs(), t.cudaDirs()...), t.libDir(), s.graphsFile(file), s.stage, s.show)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			noGraphs = err.Error()
			s.show.Say("no CUDA graphs: " + noGraphs)
		}
	}
	rec := &install.Record{
		Format:       install.Format,
		TorchVersion: t.version,
		Source:       t.source,
		TorchDir:     t.dir,
		LibDir:       t.libDir(),
		IncludeDirs:  t.includeDirs(),
		RuntimeDirs:  runtimeDirs(t.libDir()),
		Bridge:       file,
		BridgeABI:    s.bridge.abi,
		BridgeKey:    key,
		Compiler:     cxx.version,
		CUDA:         t.cuda,
		Created:      time.Now().UTC().Truncate(time.Second),
	}
	facts, err := s.bridge.try(file, t.libDir())
	if err != nil {
		os.RemoveAll(filepath.Dir(file)) // the next set-up compiles anew
		return nil, explainLoad(err, rec)
	}
	rec.Extra = facts.extra()
	if noGraphs != "" {
		rec.Extra["graphs"] = noGraphs
	}
	if err := s.addDelegate(ctx, cxx, t, rec); err != nil {
		return nil, err
	}
	if err := rec.Write(s.home); err != nil {
		return nil, err
	}
	return &Result{Home: s.home, Record: rec, Changed: true}, nil
}

// graphsFile is where the library that captures CUDA graphs lies.
func (s *session) graphsFile(bridge string) string {
	return filepath.Join(filepath.Dir(bridge), s.bridge.graphs.name)
}

// graphsMissing reports whether that library could be compiled and is not there.
func (s *session) graphsMissing(t *tree, bridge string) bool {
	return s.bridge.graphs != nil && t.cuda && runtime.GOOS == "linux" && len(t.cudaDirs()) > 0 && !isFile(s.graphsFile(bridge))
}

// find returns the libtorch to use: given, Python's, unpacked before, or
// downloaded now.
func (s *session) find(ctx context.Context) (*tree, error) {
	if env := os.Getenv("LIBTORCH"); env != "" && !s.Download {
		t, err := given(env)
		if err != nil {
			return nil, err
		}
		if s.CUDA && !t.cuda {
			return nil, &Failure{
				What: "LIBTORCH=" + env + " has no CUDA in it: lib/" + libName("torch_cuda") + " is not there",
				Fix:  []string{"set LIBTORCH to a libtorch with CUDA", "torchfx setup --cuda --download"},
			}
		}
		if t.version != TorchVersion {
			s.show.Say(fmt.Sprintf("libtorch %s is not %s, which results are compared with: some operators may differ", t.version, TorchVersion))
		}
		s.show.Say("libtorch " + t.version + ": given by LIBTORCH, " + t.dir)
		return t, nil
	}
	if t := s.platform.downloaded(s.home, s.CUDA); t != nil {
		s.show.Say("libtorch " + t.version + ": unpacked before, " + t.dir)
		return t, nil
	}
	if !s.Download {
		t, note := findPython(ctx)
		switch {
		case t != nil && (t.cuda || !s.CUDA):
			s.show.Say("libtorch " + t.version + ": of the Python on PATH, " + t.dir)
			return t, nil
		case t != nil:
			s.show.Say("the torch of the Python on PATH has no CUDA; downloading one that has")
		case note != "":
			s.show.Say(note)
		}
	}
	if err := s.download(ctx); err != nil {
		return nil, err
	}
	return openTree(filepath.Join(downloadDir(s.home), "torch"), install.Downloaded)
}

// download fetches and unpacks the components of libtorch that are not there yet.
func (s *session) download(ctx context.Context) error {
	var parts []component
	for _, c := range append(s.platform.cpu, s.platform.cuda...) {
		if s.CUDA || s.platform.isCPU(c) {
			parts = append(parts, c)
		}
	}
	return s.downloadParts(ctx, parts, downloadDir(s.home))
}

// downloadParts fetches and unpacks the components that are not in dir yet.
func (s *session) downloadParts(ctx context.Context, parts []component, dir string) error {
	var missing []component
	for _, c := range parts {
		if !c.unpackedIn(dir) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := s.checkDisk(missing); err != nil {
		return err
	}
	p, err := findPip(ctx)
	if err != nil {
		return err
	}
	wheels := filepath.Join(s.home, "downloads")
	for i, c := range missing {
		start := time.Now()
		file, err := p.fetch(ctx, c.wheel, wheels, s.stage, s.show)
		if err != nil {
			return err
		}
		fetched := time.Since(start)
		if err := c.unpack(ctx, file, dir, s.stage, s.show); err != nil {
			return err
		}
		s.show.Say(fmt.Sprintf("%s %s: %s downloaded in %.0f s, unpacked in %.0f s", c.wheel.project, c.wheel.version,
			megabytes(c.wheel.size), fetched.Seconds(), (time.Since(start) - fetched).Seconds()))
		if i+1 == len(missing) || !usesWheel(missing[i+1:], c.wheel) {
			os.Remove(file)
		}
	}
	os.Remove(wheels) // only if empty
	return nil
}

func (p *platform) isCPU(c component) bool {
	for i := range p.cpu {
		if p.cpu[i].name == c.name {
			return true
		}
	}
	return false
}

func usesWheel(parts []component, w wheel) bool {
	for i := range parts {
		if parts[i].wheel == w {
			return true
		}
	}
	return false
}

// free is freeBytes, replaced in tests.
var free = freeBytes

// checkDisk refuses before anything is fetched when the parts do not fit. Wheels
// are deleted one by one, so only the largest lies there beside what is unpacked.
func (s *session) checkDisk(parts []component) error {
	var need, largest int64
	for _, c := range parts {
		need += c.unpacked
		largest = max(largest, 2*c.wheel.size) // pip copies it once
	}
	need += largest + 100e6 // the bridge and what compiling it takes
	have, err := free(s.home)
	if err != nil || have >= need {
		return nil // where the system does not tell, writing will
	}
	return &Failure{
		What: fmt.Sprintf("not enough disk: %s needs %s in %s for a while, %s are free", parts[0].name, megabytes(need), s.home, megabytes(have)),
		Fix:  []string{"free some space", "TORCHFX_HOME=/folder/on/another/disk torchfx setup"},
		Err:  syscall.ENOSPC,
	}
}

// explain turns errors of the file system, which any step may meet, into a
// Failure.
func (s *session) explain(err error) error {
	if _, ok := errors.AsType[*Failure](err); ok || err == nil {
		return err
	}
	elsewhere := "TORCHFX_HOME=/another/folder torchfx setup"
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("interrupted; run torchfx setup again to go on: %w", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &Failure{What: "the disk is full: no room in " + s.home, Fix: []string{"free some space", elsewhere}, Err: err}
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return &Failure{What: "cannot write in " + s.home, Fix: []string{"chown or chmod the folder", elsewhere}, Err: err}
	}
	return err
}
