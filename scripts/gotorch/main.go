// Command gotorch builds the C++ of github.com/wangkuiyi/gotorch, as it lies in the
// module cache, against the libtorch that `torchfx setup` found, and prints the
// value of CGO_LDFLAGS with which a Go program that imports gotorch is built.
// `make gotorch` runs it.
//
// What it makes lies in gotorch/<key> of the home folder of torchfx. The key is a
// hash of all that goes in, so nothing is built twice:
//
//	libcgotorch.so   gotorch's C++; finds libtorch by a run path of its own
//	libtorch.so      a linker script: gotorch asks for -ltorch, which would need CUDA
//	build.log        what the compiler said
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/torchfx-go/torchfx/internal/install"
)

const module = "github.com/wangkuiyi/gotorch"

func main() {
	// an interrupted build takes its half gigabyte of intermediate files with it
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	flags, err := prepare(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotorch:", err)
		os.Exit(1)
	}
	fmt.Println(flags)
}

// prepare builds what is missing and returns the linker flags.
func prepare(ctx context.Context) (string, error) {
	home := install.Home()
	rec, err := install.Read(home)
	if err != nil {
		return "", err
	}
	src, err := sources()
	if err != nil {
		return "", err
	}
	b := &build{src: src, rec: rec}
	if err := b.plan(); err != nil {
		return "", err
	}
	dir := filepath.Join(home, "gotorch", b.key())
	if _, err := os.Stat(filepath.Join(dir, library)); err != nil {
		if err := b.run(ctx, dir); err != nil {
			return "", err
		}
	}
	return ldflags(dir, rec), nil
}

// sources returns the folder of gotorch in the module cache, in the version that
// go.mod names.
func sources() (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var info struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &info); jsonErr != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, errors.Join(err, jsonErr))
	}
	if info.Error != "" {
		return "", fmt.Errorf("go mod download %s: %s", module, info.Error)
	}
	return info.Dir, nil
}

// ldflags are for the Go linker: our two libraries come first, so -lcgotorch and
// -ltorch mean them, and the program finds both by its run path. Directories with
// spaces are quoted as CGO_LDFLAGS wants it.
func ldflags(dir string, rec *install.Record) string {
	flags := []string{
		"-L" + dir, "-L" + rec.LibDir, "-Wl,--as-needed",
		"-Wl,-rpath," + dir, "-Wl,-rpath," + rec.LibDir,
	}
	for _, d := range rec.RuntimeDirs {
		flags = append(flags, "-Wl,-rpath-link,"+d)
	}
	for i, f := range flags {
		if strings.ContainsAny(f, " \t") {
			flags[i] = "'" + f + "'"
		}
	}
	return strings.Join(flags, " ")
}

const library = "libcgotorch.so"

// A build is one compilation of gotorch's C++.
type build struct {
	src      string // gotorch in the module cache
	rec      *install.Record
	cxx      []string // the compiler, with arguments that CXX has
	version  string   // its own
	compile  []string // flags of every translation unit
	link     []string
	compiled []string // the .cc files
}

// header is what each source includes first, compiled once: of the minute that a
// source of gotorch takes, nearly all is torch.h.
const header = "#include <torch/torch.h>\n"

// script is libtorch.so for the linker; it is not needed when the program runs.
const script = "INPUT(-ltorch_cpu -lc10)\n"

// plan finds the compiler and says what is done with it.
func (b *build) plan() error {
	for _, cxx := range []string{os.Getenv("CXX"), "g++", "clang++", "c++"} {
		command := strings.Fields(cxx)
		if len(command) == 0 {
			continue
		}
		if out, err := exec.Command(command[0], append(command[1:], "--version")...).Output(); err == nil {
			b.cxx, b.version = command, string(out)
			break
		}
	}
	if b.cxx == nil {
		return errors.New("expected a C++ compiler, found no g++, clang++ or c++; set CXX")
	}
	b.compile = []string{"-std=c++20", "-O1", "-fPIC", "-w", "-I" + b.src}
	for _, d := range b.rec.IncludeDirs {
		b.compile = append(b.compile, "-isystem", d)
	}
	b.link = []string{"-shared", "-L" + b.rec.LibDir, "-Wl,-rpath," + b.rec.LibDir, "-Wl,--no-as-needed", "-lc10", "-ltorch_cpu"}
	for _, d := range b.rec.RuntimeDirs {
		b.link = append(b.link, "-Wl,-rpath-link,"+d)
	}
	var err error
	b.compiled, err = filepath.Glob(filepath.Join(b.src, "cgotorch", "*.cc"))
	if err == nil && len(b.compiled) == 0 {
		err = fmt.Errorf("expected C++ sources in %s, found none", b.src)
	}
	return err
}

// key names the build by all that goes into it; module and libtorch are named by
// their versions, which stand in their paths or in the record.
func (b *build) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", []any{b.src, b.rec.TorchVersion, b.rec.LibDir, b.cxx, b.version, b.compile, b.link, header, script})
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// run builds in a folder beside dir and moves it there, so that a folder with
// that name is whole.
func (b *build) run(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	stage, err := os.MkdirTemp(filepath.Dir(dir), "stage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	fmt.Fprintf(os.Stderr, "gotorch: compiling %d sources of %s against libtorch %s, once (two or three minutes)\n", len(b.compiled), module, b.rec.TorchVersion)
	log, err := os.Create(filepath.Join(stage, "build.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	if err := b.objects(ctx, stage, log); err != nil {
		return err
	}
	if err := os.Chmod(stage, 0o755); err != nil {
		return err
	}
	if err := os.Rename(stage, dir); err != nil {
		if _, there := os.Stat(filepath.Join(dir, library)); there != nil { // else another build was faster
			return err
		}
	}
	return nil
}

// objects compiles into the folder stage, links the library there, and leaves only
// what is needed.
func (b *build) objects(ctx context.Context, stage string, log *os.File) error {
	pre := filepath.Join(stage, "torch_pre.h")
	err := errors.Join(
		os.WriteFile(pre, []byte(header), 0o644),
		os.WriteFile(filepath.Join(stage, "libtorch.so"), []byte(script), 0o644))
	if err != nil {
		return err
	}
	if err := b.tool(ctx, log, append(b.compile, "-x", "c++-header", pre, "-o", pre+".gch")...); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	objects := make([]string, len(b.compiled))
	for i, source := range b.compiled {
		objects[i] = filepath.Join(stage, strings.TrimSuffix(filepath.Base(source), ".cc")+".o")
		args := append(b.compile[:len(b.compile):len(b.compile)], "-include", pre, "-c", source, "-o", objects[i])
		group.Go(func() error { return b.tool(ctx, log, args...) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	args := append([]string{"-o", filepath.Join(stage, library)}, objects...)
	if err := b.tool(ctx, log, append(args, b.link...)...); err != nil {
		return err
	}
	for _, made := range append(objects, pre, pre+".gch") { // the header takes half a gigabyte
		err = errors.Join(err, os.Remove(made))
	}
	return err
}

// tool runs the compiler; what it says goes into the log and, where it fails, into
// the error.
func (b *build) tool(ctx context.Context, log *os.File, args ...string) error {
	args = append(b.cxx[1:len(b.cxx):len(b.cxx)], args...)
	out, err := exec.CommandContext(ctx, b.cxx[0], args...).CombinedOutput()
	fmt.Fprintf(log, "%s %s\n%s", b.cxx[0], strings.Join(args, " "), out)
	if err != nil {
		const enough = 4000
		return fmt.Errorf("%s: %w\n%.*s", b.cxx[0], err, enough, out)
	}
	return nil
}
