package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

const (
	side  = 8       // of an image
	bytes = 1 << 20 // of a request
)

// A classifier is an http.Handler that any number of requests share.
type classifier struct {
	plan  *interpreter.Plan
	limit time.Duration
}

type request struct {
	Images [][]float32 `json:"images"`
}

type answer struct {
	Digits []int64 `json:"digits"`
}

func (c *classifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bytes)).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), c.limit)
	defer cancel()
	digits, err := c.classify(ctx, q.Images)
	if err != nil {
		http.Error(w, err.Error(), status(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer{digits})
}

// status is what a client is told. The classes of errors are those of package ir;
// the program's guards refuse what it was not exported for.
func status(err error) int {
	switch {
	case errors.Is(err, ir.ErrInput):
		return http.StatusBadRequest
	case errors.Is(err, ir.ErrCancelled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// classify is one run.
func (c *classifier) classify(ctx context.Context, images [][]float32) ([]int64, error) {
	pixels := make([]float32, 0, len(images)*side*side)
	for i, image := range images {
		if len(image) != side*side {
			return nil, ir.Errorf(ir.ErrInput, "image %d: expected %d numbers, got %d", i, side*side, len(image))
		}
		pixels = append(pixels, image...)
	}
	batch, err := torch.From(pixels, len(images), 1, side, side)
	if err != nil {
		return nil, err
	}
	defer batch.Close()
	out, err := c.plan.Run(ctx, batch)
	if err != nil {
		return nil, err
	}
	scores, ok := out.(*torch.Tensor) // float32 [images, 10]
	if !ok {
		return nil, fmt.Errorf("expected a program that returns one tensor, got %s", torch.Describe(out))
	}
	defer scores.Close()
	best, err := torch.Call("aten::argmax", scores, torch.Kw("dim", 1))
	if err != nil {
		return nil, err
	}
	defer best.(*torch.Tensor).Close()
	return torch.Data[int64](best.(*torch.Tensor))
}
