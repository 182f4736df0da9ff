package testenv

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// recordedWith is the release of torch that most expectations of the tests were
// recorded with.
const recordedWith = "2.15."

// olderText lists what older releases do otherwise; its head says what a line is.
//
//go:embed older.txt
var olderText string

var older = sync.OnceValue(func() map[string]string {
	reasons := map[string]string{}
	for line := range strings.Lines(olderText) {
		if names, why, ok := strings.Cut(strings.TrimSpace(line), " | "); ok && names[0] != '#' {
			for _, name := range strings.Fields(names) {
				reasons[name] = why
			}
		}
	}
	return reasons
})

// Otherwise says why a function or a dtype, by its name, may give something else than
// was recorded: because the libtorch that is set up is of an older release, which does
// so in Python too. It is "" for everything else, and always with the release of the
// recordings.
func Otherwise(tb testing.TB, name string) string {
	tb.Helper()
	why := older()[name]
	if why == "" {
		return ""
	}
	release := Record(tb).TorchVersion
	if strings.HasPrefix(release, recordedWith) {
		return ""
	}
	return fmt.Sprintf("libtorch %s: %s", release, why)
}

// OfRelease skips a test of what belongs to one release of libtorch, the one of the
// recordings, where another is set up.
func OfRelease(tb testing.TB, what string) {
	tb.Helper()
	if release := Record(tb).TorchVersion; !strings.HasPrefix(release, recordedWith) {
		tb.Skipf("SKIPPED with libtorch %s: %s", release, what)
	}
}
