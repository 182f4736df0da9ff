package setup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// A compiler is a command line that compiles C++, and the first line of its
// --version.
type compiler struct {
	args    []string
	version string
}

// String is the command and, where that does not begin with it, the version.
func (c *compiler) String() string {
	command := strings.Join(c.args, " ")
	if rest, ok := strings.CutPrefix(c.version, command); ok {
		return command + rest
	}
	return command + " (" + c.version + ")"
}

// findCompiler returns CXX, which may hold arguments, else the first of g++,
// clang++ and c++ that is there.
func findCompiler(ctx context.Context) (*compiler, error) {
	candidates := [][]string{{"g++"}, {"clang++"}, {"c++"}}
	given := strings.Fields(os.Getenv("CXX"))
	if len(given) > 0 {
		candidates = [][]string{given}
	}
	for _, args := range candidates {
		if _, err := exec.LookPath(args[0]); err != nil {
			continue
		}
		version, _, _ := strings.Cut(output(ctx, args[0], append(args[1:len(args):len(args)], "--version")...), "\n")
		return &compiler{args, strings.TrimSpace(version)}, nil
	}
	install := []string{"apt-get install g++", "dnf install gcc-c++"}
	if runtime.GOOS == "darwin" {
		install = []string{"xcode-select --install"}
	}
	if len(given) > 0 {
		return nil, &Failure{
			What: "no C++ compiler: CXX names " + given[0] + ", which is not there",
			Fix:  append(install, "set CXX to a compiler of C++20, or unset it"),
		}
	}
	return nil, &Failure{
		What: "no C++ compiler: looked for CXX, g++, clang++ and c++",
		Fix:  append(install, "CXX=/path/to/compiler torchfx setup"),
	}
}

// bridgeKey names a bridge compiled against t.
func (b *bridge) bridgeKey(t *tree, compilerVersion string) (string, error) {
	return b.key(t.includeDirs(), t.libDir(), t.dir, t.version, compilerVersion)
}

// key names a compiled library by all that goes into it.
func (b *library) key(includeDirs []string, libDir string, facts ...string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s/%s\n%s\n", runtime.GOOS, runtime.GOARCH, strings.Join(facts, "\n"))
	for _, args := range b.steps(includeDirs, libDir, b.name) {
		fmt.Fprintln(h, strings.Join(args, "\x00"))
	}
	err := fs.WalkDir(b.sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(b.sources, name)
		fmt.Fprintf(h, "%s %d\n", name, len(data))
		h.Write(data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// compile builds the library in the folder stage and moves it to file.
func (b *library) compile(ctx context.Context, cxx *compiler, includeDirs []string, libDir, file, stage string, show Reporter) error {
	dir, err := os.MkdirTemp(stage, "compile-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeFS(dir, b.sources); err != nil {
		return err
	}
	out := filepath.Join(dir, filepath.Base(file))
	var log bytes.Buffer
	task := show.Begin("compile "+b.what+" with "+cxx.args[0], 0)
	for _, args := range b.steps(includeDirs, libDir, out) {
		cmd := exec.CommandContext(ctx, cxx.args[0], append(cxx.args[1:len(cxx.args):len(cxx.args)], args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
		stopWithChildren(cmd)
		cmd.Stdout, cmd.Stderr = &log, &log
		if err = cmd.Run(); err != nil {
			break
		}
	}
	task.End()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return cxx.explain(b.what, log.Bytes(), err, filepath.Join(filepath.Dir(stage), "compile.log"))
	}
	if !isFile(out) {
		return &Failure{
			What: "the compiler " + cxx.String() + " reported success and made no library",
			Fix:  []string{"set CXX to a compiler of C++20"},
		}
	}
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.Rename(out, file))
}

// explain turns what the compiler printed into what to do about it. The whole
// text is kept in logFile.
func (c *compiler) explain(what string, log []byte, err error, logFile string) error {
	text := string(log)
	has := func(parts ...string) bool { return lineWith(text, parts) != "" }
	killed := false
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status, ok := exit.Sys().(syscall.WaitStatus)
		killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	}
	switch {
	case has("No space left on device", "Disk quota exceeded"):
		return &Failure{
			What: "the disk is full: no room to compile " + what,
			Fix:  []string{"free some space", "TORCHFX_HOME=/folder/on/another/disk torchfx setup"},
		}
	case killed || has("Killed", "out of memory", "virtual memory exhausted", "annot allocate memory"):
		return &Failure{
			What: "not enough memory to compile " + what + ": the compiler needs about 1.5 GB",
			Fix:  []string{"give the machine or container more memory and run torchfx setup again"},
		}
	case has("c++20", "C++20") && has("unrecognized", "invalid value", "unknown argument"):
		return &Failure{
			What: "the compiler is too old: " + c.String() + " does not know C++20",
			Fix:  []string{"apt-get install g++-12 && CXX=g++-12 torchfx setup", "CXX=clang++ torchfx setup, with clang 16 or newer"},
		}
	}
	_ = os.WriteFile(logFile, log, 0o644)
	return &Failure{
		What: what + " does not compile with " + c.String(),
		Fix:  []string{"read " + logFile, "CXX=another-compiler torchfx setup (g++ 11 or newer and clang++ 16 or newer are known to serve)"},
		Err:  fmt.Errorf("%w: %w", err, firstErrors(text, 4)),
	}
}

// firstErrors returns the first n lines of a compiler's output that report an
// error, or the last lines where none does.
func firstErrors(text string, n int) error {
	var lines []string
	for line := range strings.Lines(text) {
		if len(lines) < n && (strings.Contains(line, "error:") || strings.Contains(line, "undefined reference")) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 0 {
		return lastLines(text, n)
	}
	return errors.New(strings.Join(lines, "\n    "))
}

// writeFS copies the files of fsys below dir.
func writeFS(dir string, fsys fs.FS) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		from, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer from.Close()
		f, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		return errors.Join(err, f.Close())
	})
}
