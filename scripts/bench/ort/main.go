// Command ort is onnxruntime's side of the benchmark: a worker as package
// scripts/bench/worker describes, that runs a network's ONNX file by
// github.com/yalue/onnxruntime_go. It is a module of its own, so that nobody else
// depends on onnxruntime.
//
//	ort LIBRARY FOLDER THREADS
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/torchfx-go/torchfx/scripts/bench/worker"
	onnx "github.com/yalue/onnxruntime_go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ort:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: ort LIBRARY FOLDER THREADS")
	}
	threads, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	onnx.SetSharedLibraryPath(args[0])
	if err := onnx.InitializeEnvironment(); err != nil {
		return err
	}
	return worker.Serve(func() (*worker.Network, error) { return load(args[1], threads) })
}

func load(folder string, threads int) (*worker.Network, error) {
	manifest, err := worker.ReadManifest(folder)
	if err != nil {
		return nil, err
	}
	var inputs []onnx.Value
	var names []string
	for _, v := range manifest.Inputs {
		t, err := tensor(manifest, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		inputs, names = append(inputs, t), append(names, v.Name)
	}
	options, err := onnx.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer options.Destroy()
	if err := options.SetIntraOpNumThreads(threads); err != nil {
		return nil, err
	}
	if err := options.SetInterOpNumThreads(1); err != nil {
		return nil, err
	}
	session, err := onnx.NewDynamicAdvancedSession(filepath.Join(folder, "network.onnx"), names, []string{manifest.Output.Name}, options)
	if err != nil {
		return nil, err
	}
	once := func(look func(onnx.Value) error) error {
		outputs := []onnx.Value{nil}
		if err := session.Run(inputs, outputs); err != nil {
			return err
		}
		if err := look(outputs[0]); err != nil {
			return err
		}
		return outputs[0].Destroy()
	}
	n := &worker.Network{Version: "onnxruntime " + onnx.GetVersion()}
	if err := once(func(v onnx.Value) error {
		t, ok := v.(*onnx.Tensor[float32])
		if !ok {
			return fmt.Errorf("expected float32 as result, got %T", v)
		}
		n.Difference, err = manifest.Difference(t.GetData())
		return err
	}); err != nil {
		return nil, err
	}
	n.Run = func() error { return once(func(onnx.Value) error { return nil }) }
	return n, nil
}

func tensor(m *worker.Manifest, v worker.Value) (onnx.Value, error) {
	data, err := m.Bytes(v)
	if err != nil {
		return nil, err
	}
	shape := make([]int64, len(v.Shape))
	for i, n := range v.Shape {
		shape[i] = int64(n)
	}
	switch v.DType {
	case "float32":
		return onnx.NewCustomDataTensor(shape, data, onnx.TensorElementDataTypeFloat)
	case "int64":
		return onnx.NewCustomDataTensor(shape, data, onnx.TensorElementDataTypeInt64)
	}
	return nil, fmt.Errorf("expected float32 or int64, got %s", v.DType)
}
