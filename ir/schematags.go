package ir

import (
	"math/bits"
	"strings"
)

// Tags are the facts about an operator that its schema text does not hold. Bit
// n is tag n of libtorch's at::Tag. Several tags are young: that one is absent
// means "unknown", not "no".
type Tags uint32

// The tags of PyTorch 2.15, in the order and numbers of
// torch/headeronly/core/enum_tag.h; aten/src/ATen/native/tags.yaml explains
// them.
const (
	TagCore                    Tags = 1 << iota // part of the core ATen operator set
	TagCUDAGraphUnsafe                          // must not be captured in a CUDA graph
	TagDataDependentOutput                      // the result is no tensor and depends on data: item
	TagDynamicOutputShape                       // the shape of the result depends on data: nonzero
	TagFlexibleLayout                           // takes any strides, and may return any
	TagGenerated                                // made from another operator by PyTorch's build
	TagInplace                                  // add_
	TagInplaceView                              // changes an input's shape or strides, not its data: t_
	TagMaybeAliasingOrMutating                  // may or may not alias or write, depending on the arguments
	TagNeedsContiguousStrides                   // wants contiguous arguments
	TagNeedsExactStrides                        // wants the strides that were traced
	TagNeedsFixedStrideOrder                    // wants the order of strides that was traced
	TagNondeterministicBitwise                  // two runs may differ in bits
	TagNondeterministicSeeded                   // draws random numbers
	TagOut                                      // writes its result into an argument
	TagOutVariant                               // the out form of another overload
	TagPointwise                                // each element of the result depends on one of each input
	TagPT2Compliant                             // tested with torch.compile
	TagReduction                                // reduces dimensions
	TagViewCopy                                 // the copying form of a view
	numTags                    = iota
)

var tagNames = [numTags]string{
	"core", "cudagraph_unsafe", "data_dependent_output", "dynamic_output_shape", "flexible_layout", "generated",
	"inplace", "inplace_view", "maybe_aliasing_or_mutating", "needs_contiguous_strides", "needs_exact_strides",
	"needs_fixed_stride_order", "nondeterministic_bitwise", "nondeterministic_seeded", "out", "out_variant",
	"pointwise", "pt2_compliant_tag", "reduction", "view_copy",
}

// ParseTags reads the names that torch.Tag has. A name of another version of
// PyTorch is an error of class [ErrUnsupported]; the tags returned with it are
// the known ones.
func ParseTags(names []string) (Tags, error) {
	var tags Tags
	var err error
	for _, name := range names {
		t, ok := tagByName(name)
		if !ok {
			err = Errorf(ErrUnsupported, "operator tag %q is unknown", name)
		}
		tags |= t
	}
	return tags, err
}

func tagByName(name string) (Tags, bool) {
	for i, n := range tagNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// Has reports whether every tag of t is there.
func (s Tags) Has(t Tags) bool { return s&t == t }

// Names returns the names of the tags, in order.
func (s Tags) Names() []string {
	names := make([]string, 0, bits.OnesCount32(uint32(s)))
	for i, name := range tagNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names, separated by spaces.
func (s Tags) String() string { return strings.Join(s.Names(), " ") }
