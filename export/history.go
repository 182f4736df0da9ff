package export

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// historyText lists how operators changed among releases of torch; its head says
// what a line is. scripts/record_history.py writes it from the wheels.
//
//go:embed history.txt
var historyText string

// A release is a minor release of torch 2: 5 is 2.5. Patch releases change no
// operators.
type release int

// The releases that the history covers.
const (
	oldestRelease release = 5
	newestRelease release = 15
)

func (r release) String() string { return "2." + strconv.Itoa(int(r)) }

// releaseOf reads the version of a torch, "2.5.1+cu124"; 0 is none.
func releaseOf(version string) release {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 || parts[0] != "2" {
		return 0
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil || minor < 0 || minor > 1000 {
		return 0
	}
	return release(minor)
}

// A form is what an operator was in some releases.
type form struct {
	first, last release
	schema      *ir.Schema
}

// present reports whether f is the form of the newest release, and of later ones
// as far as is known.
func (f form) present() bool { return f.last == newestRelease }

// releases names the releases of f: "torch 2.5 to 2.12".
func (f form) releases() string {
	switch {
	case f.present():
		return fmt.Sprintf("torch %s and later", f.first)
	case f.first == f.last:
		return fmt.Sprintf("torch %s", f.first)
	}
	return fmt.Sprintf("torch %s to %s", f.first, f.last)
}

// history holds the forms of every operator that is not the same in all releases,
// oldest first.
var history = sync.OnceValue(func() map[string][]form {
	all := map[string][]form{}
	for line := range strings.Lines(historyText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		last, text, _ := strings.Cut(rest, " ")
		f := form{first: releaseOf(first), last: newestRelease}
		if last == "-" {
			f.schema = ir.Operators().Lookup(text)
		} else {
			f.last = releaseOf(last)
			f.schema, _ = ir.ParseSchema(text) // a test parses every line
		}
		if f.schema != nil {
			all[f.schema.Op] = append(all[f.schema.Op], f)
		}
	}
	return all
})

// formsOf returns the forms of an operator, oldest first; none where no release
// of the history has it.
func formsOf(op string) []form {
	op = strings.TrimSuffix(op, ".default")
	if forms := history()[op]; forms != nil {
		return forms
	}
	if s := ir.Operators().Lookup(op); s != nil {
		return []form{{oldestRelease, newestRelease, s}}
	}
	return nil
}

// whoHas says for a message which releases have an operator, or one of its
// arguments: "; torch 2.5 to 2.12 have it". It is "" where that is not known.
func whoHas(op, argument string) string {
	var has []form
	for _, f := range formsOf(op) {
		if argument != "" {
			if _, ok := f.schema.Arg(argument); !ok {
				continue
			}
		}
		if n := len(has); n > 0 && has[n-1].last+1 == f.first {
			has[n-1].last = f.last
		} else {
			has = append(has, f)
		}
	}
	if len(has) == 0 {
		return ""
	}
	names := make([]string, len(has))
	for i, f := range has {
		names[i] = f.releases()
	}
	return "; " + strings.Join(names, ", ") + " have it"
}

// pastForms returns the forms of a schema's operator that other releases had,
// that of the release in question first.
func pastForms(s *ir.Schema, r release) []form {
	forms := slices.Clone(history()[s.Op])
	forms = slices.DeleteFunc(forms, func(f form) bool { return f.schema.String() == s.String() })
	slices.SortStableFunc(forms, func(a, b form) int {
		distance := func(f form) int { return int(max(f.first-r, r-f.last, 0)) }
		return distance(a) - distance(b)
	})
	return forms
}

// renamed returns the place in a schema of an argument that had another name in
// an earlier form: at the same place, of the same type, its old name gone and its
// new name unheard of.
func (f form) renamed(s *ir.Schema, name string) (at int, ok bool) {
	at, ok = f.schema.Arg(name)
	if !ok || at >= len(s.Args) {
		return 0, false
	}
	old, now := &f.schema.Args[at], &s.Args[at]
	_, still := s.Arg(name)
	_, before := f.schema.Arg(now.Name)
	return at, !still && !before && old.Type.String() == now.Type.String() && old.KeywordOnly == now.KeywordOnly
}

// A successor is the operator that took the place of one that libtorch no longer
// has, with the arguments that are called otherwise.
type successor struct {
	target string
	rename map[string]string
	value  func(name string, v ir.Arg) ir.Arg // of an argument, by its old name; nil leaves all as they are
}

// successors of operators that exporting could leave in programs, as the
// documentation of torch 2.13 and its implementations of them have it. The others
// that went are about names of dimensions, which torch.export refuses.
var successors = map[string]successor{
	"torch.ops.aten.cholesky.default": {target: "torch.ops.aten.linalg_cholesky.default"},
	"torch.ops.aten.qr.default": {
		target: "torch.ops.aten.linalg_qr.default",
		rename: map[string]string{"self": "A", "some": "mode"},
		value: func(name string, v ir.Arg) ir.Arg {
			switch {
			case name != "some":
				return v
			case ir.EqualArgs(v, ir.Bool(false)):
				return ir.Str("complete")
			}
			return ir.Str("reduced")
		},
	},
}
