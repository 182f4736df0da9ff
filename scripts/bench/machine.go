package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	libtorch "github.com/torchfx-go/torchfx/cgo"
)

// cpuTime is what the process has used. It does not count the time that others
// have had the processor, but does count the collector's.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// machine describes the processor.
func machine() string {
	model := runtime.GOARCH
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	capability := ""
	if info, err := libtorch.GetInfo(); err == nil {
		capability = ", " + info.CPUCapability
	}
	return fmt.Sprintf("%s%s, %d processors, %s", model, capability, runtime.NumCPU(), runtime.Version())
}

// machineNow is the machine and how many others wanted its processors as measuring began.
func machineNow() string {
	data, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(data), " ")
	return fmt.Sprintf("Machine: %s, load %s at the start", machine(), load)
}
