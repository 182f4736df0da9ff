package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/internal/install"
)

// An executor runs networks, in a worker process of its own.
type executor struct {
	name  string // as flags, workers and results name it
	title string
	side  side
	every bool   // of make bench-quick too
	needs string // what prepare.py makes for it beside the program: onnx, aoti
	loads bool   // its worker takes runs from several goroutines
	named bool   // takes part only where it is named
}

// A side is the program that workers are of.
type side int

const (
	goSide side = iota
	pythonSide
	onnxSide
)

// executors is every one that is compared; the others' ratios are to the first.
var executors = []executor{
	{name: "frozen", title: "Plan, frozen", side: goSide, every: true, loads: true},
	{name: "libtorch", title: "Plan, frozen without delegate", side: goSide, named: true},
	{name: "plan", title: "Plan", side: goSide, every: true, loads: true},
	{name: "go-interpreter", title: "Interpreter", side: goSide, every: true, loads: true},
	{name: "go-aoti", title: "AOTInductor package, from Go", side: goSide, needs: "aoti"},
	{name: "onnxruntime", title: "onnxruntime, from Go", side: onnxSide, needs: "onnx", loads: true},
	{name: "eager", title: "Python eager", side: pythonSide, every: true},
	{name: "graph_module", title: "Python GraphModule", side: pythonSide},
	{name: "interpreter", title: "torch.fx Interpreter", side: pythonSide},
	{name: "compile", title: "torch.compile, freezing", side: pythonSide},
	{name: "aoti", title: "AOTInductor, from Python", side: pythonSide, needs: "aoti"},
}

// executorsOf reads a list of names.
func executorsOf(list string) ([]executor, error) {
	var all, usual []string
	for _, e := range executors {
		all = append(all, e.name)
		if (list != "quick" || e.every) && !e.named {
			usual = append(usual, e.name)
		}
	}
	if list == "quick" || list == "all" {
		list = strings.Join(usual, ",")
	}
	names, err := chosen(list, all)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(executors), func(e executor) bool { return !slices.Contains(names, e.name) }), nil
}

// file is what prepare.py is to make for the executor, "" for the program alone.
func (e executor) file(threads int) string {
	if e.needs == "aoti" {
		return fmt.Sprintf("aoti-%d", threads)
	}
	return e.needs
}

// command is the executor's worker.
func (e executor) command(folder string, threads int) (*exec.Cmd, error) {
	switch e.side {
	case pythonSide:
		return exec.Command(pythonOf("reference"), filepath.Join("scripts", "bench", "networks_worker.py"), folder, e.name, strconv.Itoa(threads)), nil
	case onnxSide:
		libraries, err := filepath.Glob(filepath.Join(benchFolder("venv"), "lib", "python3*", "site-packages", "onnxruntime", "capi", "libonnxruntime.so.*"))
		if err != nil || len(libraries) != 1 {
			return nil, fmt.Errorf("expected one library of onnxruntime below %s, got %d; run scripts/bench/reference.sh", benchFolder("venv"), len(libraries))
		}
		return exec.Command(benchFolder("ort"), libraries[0], folder, strconv.Itoa(threads)), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(self, "-worker", e.name, "-threads", strconv.Itoa(threads), folder), nil
}

// buildOnnx builds the worker of the nested module.
func buildOnnx() error {
	build := exec.Command("go", "build", "-o", benchFolder("ort"), ".")
	build.Dir = filepath.Join("scripts", "bench", "ort")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("scripts/bench/ort: %w: %s", err, out)
	}
	return nil
}

// prepare makes what executors run a network from, and returns its folder and why
// files are missing that could not be made.
func prepare(network string, batch int, files []string) (folder string, missing map[string]string, err error) {
	home := benchFolder("networks")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", nil, err
	}
	exe := pythonOf("reference")
	for _, f := range files {
		if f == "onnx" {
			exe = pythonOf(filepath.Join("bench", "venv"))
		}
	}
	args := append([]string{filepath.Join("scripts", "bench", "prepare.py"), home, network, strconv.Itoa(batch)}, files...)
	cmd := exec.Command(exe, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", nil, fmt.Errorf("export: %w: %s", err, complaints.String())
	}
	missing = map[string]string{}
	for line := range strings.Lines(string(out)) {
		file, why, _ := strings.Cut(strings.TrimSpace(line), " ")
		missing[file] = why
	}
	return filepath.Join(home, fmt.Sprintf("%s-b%d", network, batch)), missing, nil
}

// pythonOf is the Python of an environment below the module's home.
func pythonOf(environment string) string {
	return filepath.Join(install.Home(), environment, "bin", "python")
}

func benchFolder(name string) string { return filepath.Join(install.Home(), "bench", name) }
