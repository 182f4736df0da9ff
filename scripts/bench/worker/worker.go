// Package worker is the side of the benchmark that runs a network: in a process of
// its own for each executor, so that memory and threads are that executor's alone. It
// imports the standard library only, since workers of other modules share it.
//
// A worker's first line is "ready VERSION|BASE|DIFFERENCE", or "no REASON" where the
// executor does not work. It then answers each line of its standard input:
//
//	run N        "WALL CPU": nanoseconds of N runs in a row
//	load G MS    "RUNS WALL P50 P99": runs from G goroutines for MS milliseconds, all
//	             durations in nanoseconds
//	memory       "PEAK": the most memory that was resident, in bytes
//
// BASE is what was resident before the network was loaded, in bytes; DIFFERENCE that of
// the results from Python's eager ones, relative to the largest magnitude.
package worker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Value is an input or output of a network in a file.
type Value struct {
	Name  string `json:"name"`
	DType string `json:"dtype"` // as torch names it
	Shape []int  `json:"shape"`
	File  string `json:"file"` // its elements, little endian, beside the manifest
}

// A Manifest lists what goes into a network and comes out.
type Manifest struct {
	Inputs []Value `json:"inputs"`
	Output Value   `json:"output"`
	folder string
}

// ReadManifest reads the manifest of a network's folder.
func ReadManifest(folder string) (*Manifest, error) {
	data, err := os.ReadFile(filepath.Join(folder, "inputs.json"))
	if err != nil {
		return nil, err
	}
	m := &Manifest{folder: folder}
	return m, json.Unmarshal(data, m)
}

// Bytes returns the elements of a value.
func (m *Manifest) Bytes(v Value) ([]byte, error) {
	return os.ReadFile(filepath.Join(m.folder, v.File))
}

// Difference is the largest one of elements from those of the manifest's output,
// relative to the largest magnitude there.
func (m *Manifest) Difference(got []float32) (float64, error) {
	want, err := m.Bytes(m.Output)
	if err != nil {
		return 0, err
	}
	if 4*len(got) != len(want) {
		return 0, fmt.Errorf("expected a result of %d elements, got %d", len(want)/4, len(got))
	}
	var apart, largest float64
	for i, x := range got {
		a, b := float64(math.Float32frombits(binary.LittleEndian.Uint32(want[4*i:]))), float64(x)
		if math.IsNaN(b) {
			return 0, fmt.Errorf("expected %g as element %d of the result, got NaN", a, i)
		}
		apart, largest = max(apart, math.Abs(a-b)), max(largest, math.Abs(a))
	}
	if largest == 0 {
		return 0, fmt.Errorf("expected an output of Python's that is not zero everywhere")
	}
	return apart / largest, nil
}

// A Network is one that is ready: Run runs it once and gives its results back.
type Network struct {
	Version    string
	Difference float64
	Run        func() error // may be called from several goroutines at once
}

// Serve loads a network and answers lines on standard input until that ends.
func Serve(load func() (*Network, error)) error {
	base := status("VmRSS:")
	n, err := load()
	if err != nil {
		fmt.Println("no", strings.Join(strings.Fields(err.Error()), " "))
		return nil
	}
	fmt.Printf("ready %s|%d|%g\n", n.Version, base, n.Difference)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := n.answer(os.Stdout, lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (n *Network) answer(w io.Writer, line string) error {
	var count, ms int
	switch {
	case line == "memory":
		// the system notes the peak later than what is resident
		_, err := fmt.Fprintln(w, max(status("VmHWM:"), status("VmRSS:")))
		return err
	case scan(line, "run %d", &count):
		start, cpu := time.Now(), cpuTime()
		for range count {
			if err := n.Run(); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintln(w, time.Since(start).Nanoseconds(), (cpuTime() - cpu).Nanoseconds())
		return err
	case scan(line, "load %d %d", &count, &ms):
		took, wall, err := n.load(count, time.Duration(ms)*time.Millisecond)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, len(took), wall.Nanoseconds(), quantile(took, 0.5).Nanoseconds(), quantile(took, 0.99).Nanoseconds())
		return err
	}
	return fmt.Errorf("expected run, load or memory, got %q", line)
}

func scan(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format, into...)
	return err == nil && n == len(into)
}

// load runs the network from several goroutines, each again and again, and returns how
// long every run took, in order, and all together.
func (n *Network) load(goroutines int, d time.Duration) ([]time.Duration, time.Duration, error) {
	took, failed := make([][]time.Duration, goroutines), make([]error, goroutines)
	var wait sync.WaitGroup
	start := time.Now()
	for g := range goroutines {
		wait.Go(func() {
			for ok := true; ok; ok = time.Since(start) < d {
				began := time.Now()
				if failed[g] = n.Run(); failed[g] != nil {
					return
				}
				took[g] = append(took[g], time.Since(began))
			}
		})
	}
	wait.Wait()
	wall := time.Since(start)
	for _, err := range failed {
		if err != nil {
			return nil, 0, err
		}
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return all, wall, nil
}

// quantile is the smallest of sorted durations that a share q of them does not exceed.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// cpuTime is what the process has used, of all its threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// status is a size of this process in bytes, 0 where the system does not tell.
func status(field string) int64 {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			var kB int64
			_, _ = fmt.Sscan(rest, &kB)
			return kB << 10
		}
	}
	return 0
}
