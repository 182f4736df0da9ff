package setup

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A platform is an operating system and processor for which there are official
// wheels of the pinned version.
type platform struct {
	goos, goarch string
	tested       bool           // the suite of this project runs there
	glibc        [2]int         // oldest C library the wheels run on; zero: not asked
	cpu          []component    // what every program needs
	cuda         []component    // what --cuda adds; nil: there is no CUDA for it
	delegate     *regionLibrary // on kernels that are published for it; nil: there are none
}

// currentPlatform returns the entry of the table for this machine, or a Failure
// that says which machines there are.
func currentPlatform(goos, goarch string) (*platform, error) {
	for i := range platforms {
		if p := &platforms[i]; p.goos == goos && p.goarch == goarch {
			return p, nil
		}
	}
	return nil, &Failure{
		What: fmt.Sprintf("torchfx does not run on %s/%s: libtorch %s is supported on linux/amd64 (tested), linux/arm64 and darwin/arm64 (untested)", goos, goarch, TorchVersion),
		Fix:  []string{"use one of these platforms; packages ir, export and rewriter work everywhere"},
	}
}

// libName is the file name of the shared library lib<stem> on this system.
func libName(stem string) string {
	if runtime.GOOS == "darwin" {
		return "lib" + stem + ".dylib"
	}
	return "lib" + stem + ".so"
}

var (
	getconfGlibc = regexp.MustCompile(`^glibc (\d+)\.(\d+)`)
	lddGlibc     = regexp.MustCompile(`(?:GLIBC|GNU libc|glibc)[^\n]*?(\d+)\.(\d+)\)?\s*\n`)
)

// checkLibC refuses a C library that the official builds cannot load with. A
// version that no tool tells passes: then loading decides.
func (p *platform) checkLibC(ctx context.Context) error {
	if p.glibc == [2]int{} {
		return nil
	}
	need := fmt.Sprintf("glibc %d.%d", p.glibc[0], p.glibc[1])
	text := output(ctx, "getconf", "GNU_LIBC_VERSION") + "\n"
	m := getconfGlibc.FindStringSubmatch(text)
	if m == nil {
		text = output(ctx, "ldd", "--version") + "\n"
		if strings.Contains(text, "musl") {
			return &Failure{
				What: "the C library of this system is musl; libtorch's official builds need " + need + " or newer",
				Fix:  []string{"use a distribution with glibc (Debian 10, Ubuntu 20.04, RHEL 8 or newer)", "build libtorch for musl and set LIBTORCH to its folder"},
			}
		}
		m = lddGlibc.FindStringSubmatch(text)
	}
	if m == nil {
		return nil
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major > p.glibc[0] || major == p.glibc[0] && minor >= p.glibc[1] {
		return nil
	}
	return &Failure{
		What: fmt.Sprintf("glibc is too old: libtorch %s needs %s or newer, this system has %d.%d", TorchVersion, need, major, minor),
		Fix:  []string{"use a newer distribution (Debian 10, Ubuntu 20.04, RHEL 8 or newer)", "build libtorch here and set LIBTORCH to its folder"},
	}
}

// output runs a short command and returns what it printed on either stream, ""
// where it is not there.
func output(ctx context.Context, name string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	return strings.TrimSpace(string(out))
}
