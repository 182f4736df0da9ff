// Package install reads and writes the record of a set-up libtorch: the file
// install.json in the home folder of torchfx. The set-up command writes it, the
// bridge reads it; neither needs to know the other.
//
// The home folder holds, by convention,
//
//	install.json                            the record, written last: a home without it is not set up
//	libtorch-2.15.0/torch/{lib,include}     libtorch, where it was downloaded
//	libtorch-2.15.0/nvidia/cu13/lib         the libraries that libtorch finds by its own run path
//	bridge/<key>/libtorchfx_bridge.so       the compiled bridge, one folder per libtorch and source version
//	onednn-2023.2.0/{lib,include}           oneDNN, where it was downloaded
//	delegate/<key>/libtorchfx_onednn.so     the compiled delegate on it, likewise
//
// All functions are safe for concurrent use, also from several processes: a
// record is replaced by a rename, so a reader sees the old or the new one.
package install

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/torchfx-go/torchfx/ir"
)

// Format is the version of the record. A reader refuses a newer one.
const Format = 1

// FileName is the name of the record in the home folder.
const FileName = "install.json"

// maxRecord bounds what Read believes, in bytes.
const maxRecord = 1 << 20

// A Source says where libtorch came from.
type Source string

// The sources, in the order in which set-up tries them.
const (
	Given      Source = "given"      // the folder that LIBTORCH names
	Python     Source = "python"     // a torch that a Python interpreter imports
	Downloaded Source = "downloaded" // unpacked from the official wheel into the home folder
)

// A Record describes one installation. Paths are absolute in memory; in the
// file, those below the home folder are relative to it, so that a home may be
// moved as a whole.
type Record struct {
	Format       int               `json:"format"`
	TorchVersion string            `json:"torch_version"`           // "2.15.0+cpu", as libtorch's own headers say
	Source       Source            `json:"source"`                  // where libtorch came from
	TorchDir     string            `json:"torch_dir"`               // folder that holds lib and include
	LibDir       string            `json:"lib_dir"`                 // folder of libtorch_cpu and libc10
	IncludeDirs  []string          `json:"include_dirs"`            // what the bridge was compiled with, in order
	RuntimeDirs  []string          `json:"runtime_dirs,omitempty"`  // folders of the CUDA runtime libraries that libtorch_cpu names
	Bridge       string            `json:"bridge"`                  // the compiled bridge
	BridgeABI    int               `json:"bridge_abi"`              // version of the function table
	BridgeKey    string            `json:"bridge_key"`              // hash of sources, compiler and libtorch: a change means compile again
	Compiler     string            `json:"compiler,omitempty"`      // first line of its --version
	CUDA         bool              `json:"cuda"`                    // libtorch_cuda lies beside libtorch_cpu
	Delegate     string            `json:"delegate,omitempty"`      // the compiled delegate on oneDNN; "" where there is none
	DelegateKey  string            `json:"delegate_key,omitempty"`  // hash of its sources, compiler, oneDNN and libtorch
	DelegateNote string            `json:"delegate_note,omitempty"` // why there is none, for people
	Created      time.Time         `json:"created"`                 // when set-up wrote the record
	Extra        map[string]string `json:"extra,omitempty"`         // facts for people only
}

// Home returns the folder in which libtorch and the bridge are looked for:
// TORCHFX_HOME, else third_party beside the folder of the executable when that
// holds a record, else torchfx in the user's cache folder. It returns "" only
// where the system names no cache folder.
func Home() string {
	if home := os.Getenv("TORCHFX_HOME"); home != "" {
		if abs, err := filepath.Abs(home); err == nil {
			return abs
		}
		return home
	}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		home := filepath.Join(filepath.Dir(filepath.Dir(exe)), "third_party")
		if _, err := os.Stat(filepath.Join(home, FileName)); err == nil {
			return home
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "torchfx")
}

// Read returns the record in home. The error wraps ir.ErrMissing where there is
// none and names the command that makes one, ir.ErrVersion for a record of a
// newer format and ir.ErrFormat for a damaged one.
func Read(home string) (*Record, error) {
	if home == "" {
		return nil, ir.Errorf(ir.ErrMissing, "libtorch: no home folder is known; set TORCHFX_HOME and run `torchfx setup`")
	}
	path := filepath.Join(home, FileName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ir.Errorf(ir.ErrMissing, "libtorch: not set up in %s; run `torchfx setup`, or set TORCHFX_HOME to where it was run for: %w", home, err)
	}
	if err != nil {
		return nil, ir.Errorf(ir.ErrMissing, "libtorch: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return nil, ir.Errorf(ir.ErrMissing, "libtorch: %w", err)
	}
	r := new(Record)
	if len(data) > maxRecord {
		err = errors.New("longer than a megabyte")
	} else {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "%s: damaged, run `torchfx setup` again: %w", path, err)
	}
	if r.Format > Format {
		return nil, ir.Errorf(ir.ErrVersion, "%s: expected format %d at most, got %d; it was written by a newer torchfx", path, Format, r.Format)
	}
	if r.Format < 1 || r.Bridge == "" || r.LibDir == "" {
		return nil, ir.Errorf(ir.ErrFormat, "%s: expected a bridge and a library folder, got none; run `torchfx setup` again", path)
	}
	r.paths(func(p string) string {
		if p == "" || filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(home, p)
	})
	return r, nil
}

// Write makes r the record of home, creating the folder where needed, and sets
// the format. It is the last step of a set-up: what the record names must exist.
func (r *Record) Write(home string) error {
	home, err := filepath.Abs(home)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	out := *r
	out.Format = Format
	out.IncludeDirs = append([]string(nil), r.IncludeDirs...)
	out.RuntimeDirs = append([]string(nil), r.RuntimeDirs...)
	out.paths(func(p string) string {
		if rel, err := filepath.Rel(home, p); err == nil && filepath.IsAbs(p) && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return rel
		}
		return p
	})
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(home, FileName+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename, as it should
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(home, FileName))
}

// paths replaces every path of r.
func (r *Record) paths(f func(string) string) {
	r.TorchDir, r.LibDir, r.Bridge, r.Delegate = f(r.TorchDir), f(r.LibDir), f(r.Bridge), f(r.Delegate)
	for i, p := range r.IncludeDirs {
		r.IncludeDirs[i] = f(p)
	}
	for i, p := range r.RuntimeDirs {
		r.RuntimeDirs[i] = f(p)
	}
}
