package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
)

var digits = filepath.Join("..", "digits", "testdata")

// scans are recorded images and what is on them.
func scans(t *testing.T, n int) (images [][]float32, labels []int64) {
	file, err := export.OpenSafetensors(filepath.Join(digits, "digits.safetensors"))
	require.NoError(t, err)
	defer file.Close()
	all := make([]float32, 300*side*side)
	labels = make([]int64, 300)
	for name, into := range map[string]any{"images": all, "labels": labels} {
		stored, err := file.Tensor(name)
		require.NoError(t, err)
		data, err := stored.Bytes()
		require.NoError(t, err)
		_, err = binary.Decode(data, binary.LittleEndian, into)
		require.NoError(t, err)
	}
	for i := range n {
		images = append(images, all[i*side*side:(i+1)*side*side])
	}
	return images, labels[:n]
}

func post(t *testing.T, url, body string) (code int, text string) {
	r, err := http.Post(url+"/classify", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, strings.TrimSpace(string(data))
}

func TestServe(t *testing.T) {
	testenv.Libtorch(t)
	images, labels := scans(t, 20)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	url := "http://" + listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, filepath.Join(digits, "digits.pt2"), time.Minute) }()

	body := func(images [][]float32) string {
		text, err := json.Marshal(request{images})
		require.NoError(t, err)
		return string(text)
	}
	_, _ = post(t, url, body(images[:1]))
	tensors, _ := libtorch.LiveTensors()
	var wait sync.WaitGroup
	for size := 1; size <= len(images); size++ {
		wait.Go(func() {
			code, text := post(t, url, body(images[:size]))
			assert.Equal(t, http.StatusOK, code, text)
			var got answer
			assert.NoError(t, json.Unmarshal([]byte(text), &got))
			assert.Equal(t, labels[:size], got.Digits)
		})
	}
	wait.Wait()
	for _, c := range []struct{ name, body, want string }{
		{"no JSON", `{"images": [`, "unexpected EOF"},
		{"an image of another size", `{"images": [[1, 2]]}`, "image 0: expected 64 numbers, got 2"},
		{"more images than the program takes", body(make1025(images[0])), "image: dimension 0 is 1025, expected at most 1024"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, text := post(t, url, c.body)
			assert.Equal(t, http.StatusBadRequest, code)
			assert.Equal(t, c.want, text)
		})
	}
	code, text := post(t, url, `{"images": []}`)
	assert.Equal(t, http.StatusOK, code)
	assert.JSONEq(t, `{"digits": []}`, text)
	left, _ := libtorch.LiveTensors()
	assert.Equal(t, tensors, left, "requests leave no tensor open")
	stop()
	require.NoError(t, <-ended)
	_, err = http.Get(url)
	require.Error(t, err)
}

func make1025(image []float32) (images [][]float32) {
	for range 1025 {
		images = append(images, image)
	}
	return images
}

// A request whose time is up before its turn is told so, one that is there at the end is
// answered.
func TestTimeAndEnd(t *testing.T) {
	testenv.Libtorch(t)
	plan, err := load(t.Context(), filepath.Join(digits, "digits.pt2"))
	require.NoError(t, err)
	defer plan.Close()
	server := httptest.NewServer(http.StripPrefix("/classify", &classifier{plan, 0}))
	code, text := post(t, server.URL, `{"images": []}`)
	server.Close()
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, text, "deadline exceeded")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, filepath.Join(digits, "digits.pt2"), time.Minute) }()
	reader, writer := io.Pipe()
	answered := make(chan int, 1)
	go func() {
		code := 0
		if r, err := http.Post("http://"+listener.Addr().String()+"/classify", "application/json", reader); err == nil {
			code = r.StatusCode
			_ = r.Body.Close()
		}
		answered <- code
	}()
	_, err = writer.Write([]byte(`{"images": [[`)) // the request is there, half of it
	require.NoError(t, err)
	time.Sleep(time.Second) // of which the server knows
	stop()
	_, err = writer.Write([]byte(strings.TrimSuffix(strings.Repeat("0,", side*side), ",") + `]]}`))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.Equal(t, http.StatusOK, <-answered)
	require.NoError(t, <-ended)
}
