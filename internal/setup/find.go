package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/ir"
)

// A tree is a libtorch on disk: a folder with lib and include.
type tree struct {
	source  install.Source
	dir     string
	version string // of its headers, "2.15.0"
	cuda    bool   // libtorch_cuda is there
}

func (t *tree) libDir() string { return filepath.Join(t.dir, "lib") }

// includeDirs returns the folders of headers, in the order of libtorch's own
// build files.
func (t *tree) includeDirs() []string {
	include := filepath.Join(t.dir, "include")
	return []string{include, filepath.Join(include, "torch", "csrc", "api", "include")}
}

// cudaDirs returns the folders that hold the headers of CUDA's runtime: of the
// packages beside torch, in the two layouts that they have had, else of CUDA's own
// installation. Empty where there are none.
func (t *tree) cudaDirs() []string {
	beside := filepath.Join(filepath.Dir(t.dir), "nvidia")
	for _, place := range [][]string{
		{filepath.Join(beside, "cu13", "include")},
		{filepath.Join(beside, "cu12", "include")},
		{filepath.Join(beside, "cuda_runtime", "include"), filepath.Join(beside, "cuda_nvcc", "include")},
		{filepath.Join(os.Getenv("CUDA_HOME"), "include")},
		{"/usr/local/cuda/include"},
	} {
		if isFile(filepath.Join(place[0], "cuda_runtime_api.h")) {
			return place
		}
	}
	return nil
}

// openTree looks at dir and returns the libtorch in it. The error says what is
// not there.
func openTree(dir string, source install.Source) (*tree, error) {
	t := &tree{source: source, dir: dir}
	for _, stem := range []string{"torch_cpu", "c10"} {
		if lib := filepath.Join(t.libDir(), libName(stem)); !isFile(lib) {
			return nil, ir.Errorf(ir.ErrMissing, "%s: expected a library, found none", lib)
		}
	}
	header := filepath.Join(dir, "include", "ATen", "core", "dispatch", "Dispatcher.h")
	if !isFile(header) {
		return nil, ir.Errorf(ir.ErrMissing, "%s: expected a header, found none", header)
	}
	version, err := headerVersion(filepath.Join(dir, "include"))
	if err != nil {
		return nil, err
	}
	t.version = version
	t.cuda = isFile(filepath.Join(t.libDir(), libName("torch_cuda")))
	return t, nil
}

var versionMacro = regexp.MustCompile(`(?m)^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) (\d+)`)

// headerVersion reads the version that libtorch's headers state. They moved in
// 2.10; both places are looked at.
func headerVersion(include string) (string, error) {
	places := []string{
		filepath.Join(include, "torch", "headeronly", "version.h"),
		filepath.Join(include, "torch", "csrc", "api", "include", "torch", "version.h"),
	}
	for _, place := range places {
		text, err := os.ReadFile(place)
		if err != nil {
			continue
		}
		parts := map[string]string{}
		for _, m := range versionMacro.FindAllStringSubmatch(string(text), -1) {
			parts[m[1]] = m[2]
		}
		if len(parts) == 3 {
			return parts["MAJOR"] + "." + parts["MINOR"] + "." + parts["PATCH"], nil
		}
	}
	return "", ir.Errorf(ir.ErrVersion, "%s: expected TORCH_VERSION_MAJOR, _MINOR and _PATCH in torch/headeronly/version.h, found none", include)
}

// given returns the libtorch that LIBTORCH names: a folder with lib and include,
// or one above it as in the wheel. It is never passed over in silence.
func given(dir string) (*tree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	var t *tree
	for _, place := range []string{abs, filepath.Join(abs, "torch"), filepath.Join(abs, "libtorch")} {
		if isDir(filepath.Join(place, "lib")) {
			t, err = openTree(place, install.Given)
			break
		}
		err = ir.Errorf(ir.ErrMissing, "%s: expected a folder lib in it, found none", abs)
	}
	fix := []string{"set LIBTORCH to a folder that holds lib/" + libName("torch_cpu") + " and include/ATen", "unset LIBTORCH, and torchfx setup downloads libtorch " + TorchVersion}
	if err != nil {
		return nil, &Failure{What: "LIBTORCH=" + dir + " is not a libtorch", Fix: fix, Err: err}
	}
	if !supported(t.version) {
		return nil, &Failure{
			What: fmt.Sprintf("LIBTORCH=%s has the wrong version: expected %s (%d.%d or newer is possible), got %s",
				dir, TorchVersion, oldestTorch[0], oldestTorch[1], t.version),
			Fix: []string{"set LIBTORCH to libtorch " + TorchVersion, fix[1]},
			Err: ir.ErrVersion,
		}
	}
	return t, nil
}

// supported reports whether the bridge is written for a version: from
// oldestTorch to the pinned one.
func supported(version string) bool {
	var v, pin [3]int
	for i, p := range []*[3]int{&v, &pin} {
		text := []string{version, TorchVersion}[i]
		if n, _ := fmt.Sscanf(text, "%d.%d.%d", &p[0], &p[1], &p[2]); n != 3 {
			return false
		}
	}
	minor := v[0]*1000 + v[1]
	return minor >= oldestTorch[0]*1000+oldestTorch[1] && minor <= pin[0]*1000+pin[1]
}

// findPython returns the libtorch of a torch package that a Python on PATH
// imports, and nil when there is none of the pinned version. note says, for
// people, why a torch that is there is not taken.
func findPython(ctx context.Context) (t *tree, note string) {
	// find_spec does not import: that would take seconds. Python starts in / so
	// that a folder named torch in the working directory is not taken for it.
	const program = `import importlib.util, json, os
s = importlib.util.find_spec("torch")
print(json.dumps(os.path.dirname(s.origin) if s and s.origin else ""))`
	for _, python := range []string{"python3", "python"} {
		if _, err := exec.LookPath(python); err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		cmd := exec.CommandContext(ctx, python, "-c", program)
		cmd.Dir = "/"
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		cancel()
		var dir string
		if err != nil || json.Unmarshal(out, &dir) != nil || dir == "" {
			continue
		}
		t, err := openTree(dir, install.Python)
		switch {
		case err != nil:
			note = fmt.Sprintf("the torch of %s does not serve: %v", python, err)
		case t.version != TorchVersion:
			note = fmt.Sprintf("the torch of %s does not serve: expected version %s, got %s (LIBTORCH=%s takes it all the same)", python, TorchVersion, t.version, dir)
		default:
			return t, ""
		}
	}
	return nil, note
}

// downloaded returns the libtorch that an earlier set-up unpacked in home, or nil
// when it is not whole.
func (p *platform) downloaded(home string, cuda bool) *tree {
	dir := downloadDir(home)
	parts := p.cpu
	if cuda {
		parts = append(parts[:len(parts):len(parts)], p.cuda...)
	}
	for i := range parts {
		if !parts[i].unpackedIn(dir) {
			return nil
		}
	}
	t, err := openTree(filepath.Join(dir, "torch"), install.Downloaded)
	if err != nil {
		return nil
	}
	return t
}

// downloadDir is where wheels are unpacked, in their own layout.
func downloadDir(home string) string { return filepath.Join(home, "libtorch-"+TorchVersion) }

// megabytes prints a size in bytes as people read it.
func megabytes(n int64) string {
	if n >= 1e9 {
		return strconv.FormatFloat(float64(n)/1e9, 'f', 1, 64) + " GB"
	}
	return strconv.FormatInt((n+999999)/1e6, 10) + " MB"
}
