package torchops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// fixedLength makes a list of ints as long as the schema has it, int[2]. Python
// passes one of any length on; what kernels then do is repeat a single number, in
// convolutions and pooling, or refuse in their words. It is done here since not all
// of them look: a short list ends the process in oneDNN.
func (c *call) fixedLength(encoded any, a *ir.Param) (any, error) {
	list, ok := encoded.([]int64)
	want := a.Type.Required().Len
	if !ok || want < 2 || len(list) == want {
		return encoded, nil
	}
	if free, ok := a.Default.(ir.List); ok && free.Len() == len(list) {
		return encoded, nil // stride=[] is the kernel size
	}
	if c.schema.Namespace() == "mkldnn" && want == 2 && len(list) == 3 {
		return encoded, nil // weights of three dimensions are packed by the same operators, which look
	}
	name := strings.TrimPrefix(c.schema.Name(), "aten::")
	repeats := strings.HasPrefix(name, "conv") || isPool(name) && a.Name != "output_size"
	if len(list) == 1 && repeats {
		return slices.Repeat(list, want), nil
	}
	return nil, ir.Errorf(ir.ErrRuntime, "%s", lengthText(name, a, want, list))
}

func isPool(name string) bool {
	return strings.Contains(name, "_pool") && !strings.HasPrefix(name, "adaptive_") && !strings.HasPrefix(name, "fractional_")
}

// lengthText is what the kernels of 2.15.0 say of a list of the wrong length.
func lengthText(name string, a *ir.Param, want int, list []int64) string {
	words := map[int]string{2: "two", 3: "three"}
	switch {
	case strings.HasPrefix(name, "conv"):
		return fmt.Sprintf("expected %s to be a single integer value or a list of %d values to match the convolution dimensions, but got %s=%s",
			a.Name, want, a.Name, Describe(list))
	case strings.HasPrefix(name, "adaptive_avg"):
		return fmt.Sprintf("%s: output_size must be %d", name, want)
	case strings.HasPrefix(name, "adaptive_max"):
		return fmt.Sprintf("%s(): internal error: output_size.size() must be %d", name, want)
	case strings.HasPrefix(name, "fractional"):
		return fmt.Sprintf("%s: %s must either be a single Int or tuple of Ints", name, a.Name)
	case strings.HasPrefix(name, "max_unpool"):
		return fmt.Sprintf("There should be exactly %s elements in %s, but got %d elements.", words[want], a.Name, len(list))
	case isPool(name) && a.Name == "stride":
		return fmt.Sprintf("%s: stride must either be omitted, a single int, or a tuple of %s ints", name, words[want])
	case isPool(name) && a.Name == "dilation":
		return fmt.Sprintf("%s: dilation must be either a single int, or a tuple of %s ints", name, words[want])
	case isPool(name):
		return fmt.Sprintf("%s: %s must either be a single int, or a tuple of %s ints", name, a.Name, words[want])
	case strings.Contains(name, "_pad"):
		return fmt.Sprintf("padding size is expected to be %d, but got: %d", want, len(list))
	}
	return fmt.Sprintf("It is expected %s equals to %d, but got size %d", a.Name, want, len(list))
}
