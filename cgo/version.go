package libtorch

import (
	"fmt"
	"strings"
)

// version reads TORCH_ABI_VERSION: a byte each of major, minor and patch, from
// the top.
func version(abi uint64) string {
	return fmt.Sprintf("%d.%d.%d", abi>>56, abi>>48&0xff, abi>>40&0xff)
}

// release cuts what follows the three numbers: "2.15.0+cpu", "2.15.0a0".
func release(v string) string {
	v, _, _ = strings.Cut(v, "+")
	dots := 0
	for i, c := range v {
		if c == '.' {
			dots++
		}
		if c != '.' && (c < '0' || c > '9') || dots > 2 {
			return v[:i]
		}
	}
	return v
}
