// Command serve answers over HTTP which digits are on images, by the network of
// examples/digits, frozen and planned: what a service of one's own begins with.
//
//	go run ./examples/serve -listen localhost:8080
//	curl -d '{"images": [[0, 0, 0.3, 0.8, ...]]}' localhost:8080/classify
//
// A request has any number of images of 8 by 8 numbers, 0 for paper and 1 for ink,
// which are one run. Kernels are as busy with one image as with eight, so that requests
// are not gathered; as many runs go on as there are processors, and the others wait
// until their time is up. On an interrupt, requests that are there are answered.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/interpreter"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "`address` to listen on")
	model := flag.String("model", "examples/digits/testdata/digits.pt2", "`file` of the program")
	limit := flag.Duration("limit", time.Second, "how long a request may wait and run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, listener, *model, *limit); err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until ctx is over, and those that are there behind that.
func serve(ctx context.Context, listener net.Listener, model string, limit time.Duration) error {
	plan, err := load(ctx, model)
	if err != nil {
		return err
	}
	defer plan.Close() // once nobody runs it
	mux := http.NewServeMux()
	mux.Handle("POST /classify", &classifier{plan, limit})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		patience, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ended <- server.Shutdown(patience)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// load makes a plan of a saved program and runs it once, before the first request.
func load(ctx context.Context, model string) (*interpreter.Plan, error) {
	program, err := torchfx.Load(model)
	if err != nil {
		return nil, err
	}
	defer program.Close() // a plan keeps the weights that it needs
	report, err := program.Freeze(ctx)
	if err != nil {
		return nil, err
	}
	log.Printf("frozen:\n%s", report)
	plan, err := program.Compile(interpreter.WithWorkers(runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	example, err := torch.From(make([]float32, side*side), 1, 1, side, side)
	if err != nil {
		return nil, errors.Join(err, plan.Close())
	}
	defer example.Close()
	if err := plan.Warmup(ctx, example); err != nil {
		return nil, errors.Join(err, plan.Close())
	}
	return plan, nil
}
