package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The side that is timed here, by itself.
func BenchmarkSteps(b *testing.B) {
	for kind, make := range graphs {
		for _, n := range []int{10_000, 100_000} {
			g := make(n)
			for _, s := range steps(kind, n) {
				b.Run(fmt.Sprintf("%s/%s/%d", s.name, kind, n), func(b *testing.B) {
					b.ReportAllocs()
					for range b.N {
						b.StopTimer()
						run, _ := s.prepare(g)
						b.StartTimer()
						require.NoError(b, run())
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
				})
			}
		}
	}
}

// Both graphs have the nodes that they were asked for.
func TestGraphsAreAsLargeAsTheySay(t *testing.T) {
	for kind, make := range graphs {
		for _, n := range []int{102, 3000} {
			g := make(n)
			require.InDelta(t, n, g.Len(), 2, kind)
			require.NoError(t, g.Lint())
		}
	}
}
