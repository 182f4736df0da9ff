//go:build !linux

package passes

import "time"

// threadTime is the time of the clock: there is none of threads.
func threadTime() time.Duration { return wallTime() }
