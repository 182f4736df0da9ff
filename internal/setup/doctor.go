package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/torchfx-go/torchfx/internal/install"
)

// Facts are what a loaded libtorch says about itself and the machine.
type Facts struct {
	Torch   string `json:"torch"`              // version of the library in memory
	Bridge  string `json:"bridge"`             // version of the compiled bridge
	CPU     string `json:"cpu_capability"`     // kernels that libtorch chose: "AVX2"
	BLAS    string `json:"blas"`               // library of matrix products, with its version
	OneDNN  string `json:"onednn"`             // its version, or why it is not there
	Threads int    `json:"threads"`            // that one operator may use
	CUDA    int    `json:"cuda_devices"`       // devices that programs can use
	CUDAWhy string `json:"cuda_why,omitempty"` // why there is none
	// GraphsWhy says why CUDA graphs are not captured where there are devices, "" where
	// they are.
	GraphsWhy string `json:"cuda_graphs_why,omitempty"`
}

// extra are the facts as a record keeps them, so that a second set-up can tell
// them without loading anything.
func (f *Facts) extra() map[string]string {
	return map[string]string{
		"torch": f.Torch, "bridge": f.Bridge, "cpu": f.CPU, "blas": f.BLAS, "onednn": f.OneDNN,
		"threads": strconv.Itoa(f.Threads), "cuda": f.CUDAText(),
	}
}

// CUDAText says whether CUDA can be used, and why not.
func (f *Facts) CUDAText() string {
	if f.CUDA == 0 {
		return "no: " + f.CUDAWhy
	}
	text := "1 device"
	if f.CUDA > 1 {
		text = strconv.Itoa(f.CUDA) + " devices"
	}
	if f.GraphsWhy != "" {
		return text + ", no graphs: " + f.GraphsWhy
	}
	return text + ", graphs"
}

// A Diagnosis is what [Diagnose] found.
type Diagnosis struct {
	OK          bool            `json:"ok"` // no problems
	Platform    string          `json:"platform"`
	Tested      bool            `json:"platform_tested"`
	Home        string          `json:"home"`
	Record      *install.Record `json:"install,omitempty"`      // as set-up wrote it; absent when not set up
	Facts       *Facts          `json:"libtorch,omitempty"`     // absent when it does not load
	Delegate    string          `json:"delegate,omitempty"`     // name and version, or why there is none
	LoadSeconds float64         `json:"load_seconds,omitempty"` // until the first operator has run
	Problems    []Problem       `json:"problems"`               // each keeps programs from running
	Notes       []string        `json:"notes"`                  // worth knowing, nothing is broken
}

// A Problem is a [Failure] as a report holds it.
type Problem struct {
	What string   `json:"what"`
	Fix  []string `json:"fix,omitempty"` // any one of them suffices
}

func (d *Diagnosis) problem(err error) {
	if f, ok := errors.AsType[*Failure](err); ok {
		what := *f
		what.Fix = nil
		d.Problems = append(d.Problems, Problem{what.Error(), f.Fix})
		return
	}
	d.Problems = append(d.Problems, Problem{err.Error(), []string{"torchfx setup"}})
}

// Diagnose looks at the installation in the home folder, loads it and runs one
// operator. It changes nothing. Whatever is wrong is in the result.
func Diagnose(ctx context.Context, o Options) *Diagnosis {
	d := &Diagnosis{Platform: runtime.GOOS + "/" + runtime.GOARCH, Problems: []Problem{}, Notes: []string{}}
	defer func() { d.OK = len(d.Problems) == 0 }()
	s, err := newSession(o)
	if err != nil {
		d.problem(err)
		return d
	}
	d.Tested, d.Home = s.platform.tested, s.home
	if !d.Tested {
		d.Notes = append(d.Notes, d.Platform+" takes the same route as linux/amd64 and is untested")
	}
	if err := s.platform.checkLibC(ctx); err != nil {
		d.problem(err)
	}
	rec, err := install.Read(s.home)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = &Failure{What: "torchfx is not set up: no " + install.FileName + " in " + s.home, Fix: []string{"torchfx setup"}}
		}
		d.problem(err)
		return d
	}
	d.Record = rec
	for _, name := range []string{rec.Bridge, filepath.Join(rec.LibDir, libName("torch_cpu")), filepath.Join(rec.LibDir, libName("c10"))} {
		if !isFile(name) {
			d.problem(&Failure{What: name + " is gone", Fix: []string{"torchfx setup"}})
		}
	}
	if len(d.Problems) > 0 {
		return d
	}
	start := time.Now()
	facts, err := s.bridge.try(rec.Bridge, rec.LibDir)
	if err != nil {
		d.problem(explainLoad(err, rec))
		return d
	}
	d.Facts, d.LoadSeconds = facts, time.Since(start).Seconds()
	d.Delegate = s.tryDelegate(rec)
	if rec.TorchVersion != TorchVersion {
		d.Notes = append(d.Notes, fmt.Sprintf("libtorch %s is not %s, which results are compared with", rec.TorchVersion, TorchVersion))
	}
	s.NoDelegate = s.NoDelegate || rec.DelegateNote == leftOut // as it was asked for
	if r, err := s.current(ctx); r == nil {
		note := "sources, compiler or LIBTORCH have changed since; torchfx setup brings it up to date"
		if err != nil {
			note = err.Error()
		}
		d.Notes = append(d.Notes, note)
	}
	return d
}
