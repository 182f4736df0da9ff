//go:build !unix

package export

import "time"

var started = time.Now()

func cpuTime() time.Duration { return time.Since(started) }
