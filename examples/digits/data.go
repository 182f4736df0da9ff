package main

import (
	"fmt"
	"path/filepath"

	"github.com/torchfx-go/torchfx/export"
	torch "github.com/torchfx-go/torchfx/torchops"
)

const (
	side    = 8           // pixels of a scan in each direction
	pixels  = side * side // of one scan
	classes = 10
)

// scans are the held-out digits with what PyTorch computed for them.
type scans struct {
	images  []float32 // [n, 1, 8, 8], 0 is paper and 1 is ink
	labels  []int64   // [n], what the writer meant
	outputs []float32 // [n, 10], PyTorch's
}

func (s *scans) len() int { return len(s.labels) }

// readScans reads digits.safetensors below dir.
func readScans(dir string) (*scans, error) {
	name := filepath.Join(dir, "digits.safetensors")
	f, err := export.OpenSafetensors(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	var s scans
	if s.images, err = elements[float32](f, "images"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if s.labels, err = elements[int64](f, "labels"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if s.outputs, err = elements[float32](f, "outputs"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n := s.len(); len(s.images) != n*pixels || len(s.outputs) != n*classes {
		return nil, fmt.Errorf("%s: expected %d pixels and %d outputs for %d labels, got %d and %d",
			name, n*pixels, n*classes, n, len(s.images), len(s.outputs))
	}
	return &s, nil
}

// elements copies a tensor of the file into a Go slice.
func elements[T torch.Element](f *export.Safetensors, key string) ([]T, error) {
	stored, err := f.Tensor(key)
	if err != nil {
		return nil, err
	}
	data, err := stored.Bytes()
	if err != nil {
		return nil, err
	}
	t, err := torch.FromBytes(stored.DType, []int{int(stored.Numel())}, data)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return torch.Data[T](t)
}

// best returns the class with the largest output.
func best(outputs []float32) int {
	class := 0
	for i, x := range outputs {
		if x > outputs[class] {
			class = i
		}
	}
	return class
}
