// Command largeprogram makes a program of many gigabytes without needing the space,
// and measures what opening it costs. docs/reliability.md has the numbers.
//
//	go run ./scripts/largeprogram make 5GB.pt2        # 80 layers of 62.5 MB, a sparse file
//	go run ./scripts/largeprogram measure 5GB.pt2     # signature, weights, memory
package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/torchfx-go/torchfx/export"
)

const (
	layers = 80
	width  = 3952 // elements of a side: 62.5 MB of float32 a weight, 5.0 GB in all
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "largeprogram: expected make FILE or measure FILE")
		os.Exit(2)
	}
	var err error
	switch os.Args[1] {
	case "make":
		err = makeProgram(os.Args[2])
	case "measure":
		err = measure(os.Args[2])
	default:
		err = fmt.Errorf("expected make or measure, got %s", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "largeprogram:", err)
		os.Exit(1)
	}
}

type object = map[string]any

// tensorMeta describes a float32 matrix in the schema of torch.export.
func tensorMeta(rows, columns int, grad bool) object {
	number := func(n int) object { return object{"as_int": n} }
	return object{
		"dtype": 7, "sizes": []object{number(rows), number(columns)}, "requires_grad": grad, "device": object{"type": "cpu", "index": nil},
		"strides": []object{number(columns), number(1)}, "storage_offset": number(0), "layout": 7,
	}
}

// makeProgram writes a chain of linear layers. Weights are stored records that nobody
// writes: holes in the file, which read as zeros.
func makeProgram(path string) error {
	tensor := func(name string) object { return object{"as_tensor": object{"name": name}} }
	values := object{"x": tensorMeta(1, width, false)}
	var inputs, specs, nodes []object
	config := object{}
	last := "x"
	for i := range layers {
		name, out := fmt.Sprintf("p_layers_%d_weight", i), fmt.Sprintf("linear_%d", i)
		fqn := fmt.Sprintf("layers.%d.weight", i)
		inputs = append(inputs, tensor(name))
		specs = append(specs, object{"parameter": object{"arg": object{"name": name}, "parameter_name": fqn}})
		values[name], values[out] = tensorMeta(width, width, true), tensorMeta(1, width, false)
		config[fqn] = object{"path_name": fmt.Sprintf("weight_%d", i), "is_param": true, "use_pickle": false, "tensor_meta": tensorMeta(width, width, true)}
		nodes = append(nodes, object{
			"target": "torch.ops.aten.linear.default", "outputs": []object{tensor(out)}, "metadata": object{},
			"inputs": []object{{"name": "input", "arg": tensor(last), "kind": 1}, {"name": "weight", "arg": tensor(name), "kind": 1}},
		})
		last = out
	}
	leaf := `{"type":null,"context":null,"children_spec":[]}`
	program := object{
		"graph_module": object{
			"graph": object{
				"inputs": append(inputs, tensor("x")), "outputs": []object{tensor(last)}, "nodes": nodes, "tensor_values": values,
				"sym_int_values": object{}, "sym_bool_values": object{},
			},
			"signature": object{
				"input_specs":  append(specs, object{"user_input": object{"arg": tensor("x")}}),
				"output_specs": []object{{"user_output": object{"arg": tensor(last)}}},
			},
			"module_call_graph": []object{{"fqn": "", "signature": object{
				"inputs": []object{}, "outputs": []object{}, "forward_arg_names": []string{"x"}, "out_spec": "[1," + leaf + "]",
				"in_spec": `[1,{"type":"builtins.tuple","context":"null","children_spec":[{"type":"builtins.tuple","context":"null","children_spec":[` + leaf +
					`]},{"type":"builtins.dict","context":"[]","children_spec":[]}]}]`,
			}}},
		},
		"opset_version": object{"aten": 10}, "range_constraints": object{}, "schema_version": object{"major": 8, "minor": 20}, "verifiers": []string{"TRAINING"},
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := &holes{f: f}
	z := zip.NewWriter(out)
	record := func(name string, size uint64, write func(io.Writer) error) error {
		if err := z.Flush(); err != nil {
			return err
		}
		// content begins at a multiple of 64, as PyTorch's writer has it
		h := &zip.FileHeader{Name: "large/" + name, Method: zip.Store, CompressedSize64: size, UncompressedSize64: size}
		pad := 64 - (out.at+30+int64(len(h.Name))+4)%64
		h.Extra = append([]byte{'F', 'B', byte(pad), 0}, bytes.Repeat([]byte{'Z'}, int(pad))...)
		w, err := z.CreateRaw(h) // without a checksum: 0 everywhere means none
		if err != nil {
			return err
		}
		return write(w)
	}
	text := func(name string, v any) error {
		data, ok := v.([]byte)
		if !ok {
			if data, err = json.Marshal(v); err != nil {
				return err
			}
		}
		return record(name, uint64(len(data)), func(w io.Writer) error { _, err := w.Write(data); return err })
	}
	const layerBytes = 4 * width * width
	zeros := make([]byte, 1<<20)
	for i := range layers {
		err := record(fmt.Sprintf("data/weights/weight_%d", i), layerBytes, func(w io.Writer) error {
			for left := layerBytes; left > 0; left -= len(zeros) {
				if _, err := w.Write(zeros[:min(left, len(zeros))]); err != nil {
					return err
				}
			}
			return z.Flush()
		})
		if err != nil {
			return err
		}
	}
	for name, v := range map[string]any{
		"data/weights/model_weights_config.json": object{"config": config}, "data/constants/model_constants_config.json": object{"config": object{}},
		"models/model.json": program, "data/sample_inputs/model.pt": []byte{}, "archive_format": []byte("pt2"), "archive_version": []byte("0"),
		".data/version": []byte("6\n"), "byteorder": []byte("little"),
	} {
		if err := text(name, v); err != nil {
			return err
		}
	}
	return z.Close()
}

// holes writes a file, and leaves out what is zero and long.
type holes struct {
	f  *os.File
	at int64
}

func (h *holes) Write(p []byte) (int, error) {
	if len(p) >= 4096 && len(bytes.TrimLeft(p, "\x00")) == 0 {
		h.at += int64(len(p))
		return len(p), nil
	}
	n, err := h.f.WriteAt(p, h.at)
	h.at += int64(n)
	return n, err
}

// measure opens a program in three ways and prints what each cost.
func measure(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %.2f GB\n", path, float64(info.Size())/1e9)
	for _, way := range []struct {
		name string
		opts []export.Option
	}{
		{"signature only", []export.Option{export.SignatureOnly()}},
		{"signature only, again", []export.Option{export.SignatureOnly()}},
		{"graph and weights, mapped", []export.Option{export.SkipChecksums()}},
		{"weights and checksums", nil},
		{"weights and checksums, again", nil},
	} {
		start, before := time.Now(), processorTime()
		p, err := export.Open(path, way.opts...)
		if err != nil {
			return err
		}
		took := time.Since(start)
		fmt.Printf("%-28s %8.1f ms, processor %8.1f ms, resident %s\n", way.name, float64(took.Microseconds())/1e3,
			float64((processorTime()-before).Microseconds())/1e3, resident())
		if err := p.Close(); err != nil {
			return err
		}
	}
	return nil
}

// processorTime is what the process computed so far; unlike the time on the wall it does
// not grow while others have the machine.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the memory that the process holds, as Linux tells it.
func resident() string {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "unknown"
}
