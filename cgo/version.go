package libtorch

// #include "trampoline.h"
import "C"

import (
	"fmt"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
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

// sureDTypes are the dtypes, by their numbers below it, that every release has from 2.11 on.
const sureDTypes = 46

// hasDType reports whether the open libtorch has the dtype of a number.
func hasDType(n int) bool { return n < sureDTypes || n < dtypes() }

// dtypes asks libtorch how many dtypes it has: their numbers are without gaps, and what
// follows the last stands for none, of which no tensor can be. It is asked late, since
// making one of the newest warns.
var dtypes = sync.OnceValue(func() int {
	n := 0
	for _, dt := range ir.DTypes() {
		n = max(n, dt.C10()+1)
	}
	for ; n > sureDTypes; n-- {
		var r reply
		t, err := r.tensor("", C.tfx_tensor_new(C.int32_t(n-1), dims([]int64{0}), 1, nil, 0, r.w(), replyWords, &r.out))
		if err == nil {
			_ = t.Close()
			break
		}
	}
	return n
})

// CheckDType opens libtorch and says whether it has a dtype: releases add some. The
// error wraps [ir.ErrUnsupported] and names the release.
func CheckDType(dt ir.DType) error {
	if err := Open(); err != nil {
		return err
	}
	if !dt.Valid() {
		return ir.Errorf(ir.ErrUnsupported, "dtype: expected one of libtorch's, got %v", dt)
	}
	if !hasDType(dt.C10()) {
		return ir.Errorf(ir.ErrUnsupported, "dtype %v: libtorch %s has none of that name", dt, loaded.version)
	}
	return nil
}

// dtypeFromC10 is [ir.DTypeFromC10] for a number of the open libtorch, in which the
// first one after its dtypes stands for none.
func dtypeFromC10(n int) (ir.DType, error) {
	if !hasDType(n) {
		return ir.InvalidDType, ir.Errorf(ir.ErrUnsupported, "dtype: expected one of libtorch %s, got none", loaded.version)
	}
	return ir.DTypeFromC10(n)
}
