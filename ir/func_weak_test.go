package ir

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Names that nobody holds any more are forgotten: hostile files may bring any number.
func TestFuncsAreForgotten(t *testing.T) {
	const n = 20_000
	count := func() (names int) {
		funcs.Range(func(any, any) bool { names++; return true })
		return names
	}
	held := FuncOf("forgotten.held")
	before := count()
	for i := range n {
		FuncOf(fmt.Sprintf("forgotten.f%d", i))
	}
	for end := time.Now().Add(10 * time.Second); count() > before+n/100 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC()
	}
	assert.Less(t, count(), before+n/100)
	assert.Same(t, held, FuncOf("forgotten.held"))
}

// Goroutines that ask for one name get one pointer, whatever is collected meanwhile.
func TestFuncsAreOne(t *testing.T) {
	for round := range 200 {
		name := fmt.Sprintf("one.f%d", round%3)
		var all [8]*Func
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				if i == 4 {
					runtime.GC()
				}
				all[i] = FuncOf(name)
			})
		}
		wg.Wait()
		for _, f := range all {
			assert.Same(t, all[0], f)
		}
	}
}

func BenchmarkFuncOf(b *testing.B) {
	f := FuncOf("torch.ops.aten.add.Tensor")
	for b.Loop() {
		FuncOf("torch.ops.aten.add.Tensor")
	}
	runtime.KeepAlive(f)
}
