package export

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A decoder turns JSON into the types of schema.go. It does not stop at a
// fault: it notes where and what, leaves the zero value, and goes on.
type decoder struct {
	faults  *faults
	record  string   // the record under reading, for messages
	where   []string // what we are in, outermost first
	newer   bool     // the file's minor version is above ours
	foreign bool     // some object has a field that is not known
	old     bool     // schema 7 is read
	graphs  int      // nested graphs around us

	signatureOnly bool // leave the nodes of the graph out
}

func (d *decoder) in(what string) (out func()) {
	d.where = append(d.where, what)
	return func() { d.where = d.where[:len(d.where)-1] }
}

// fault notes a fault at the present place.
func (d *decoder) fault(class *ir.Class, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.faults.add(class, "%s: %s", strings.Join(append([]string{d.record}, d.where...), ", "), text)
}

// A fields is the set of fields of a struct.
type fields struct {
	what     string
	names    []string // the required ones first
	required int
}

func fieldsOf(what string, required, optional string) *fields {
	r := strings.Fields(required)
	return &fields{what, append(r, strings.Fields(optional)...), len(r)}
}

// object reads the fields of v into vals, by their place in f. An optional
// field that is null counts as absent. It reports whether v is an object.
func (d *decoder) object(v jsonValue, f *fields, vals []jsonValue) bool {
	return d.scan(v, f, vals) && d.require(f, vals)
}

// scan is the first half of object: it reads the fields that are there.
func (d *decoder) scan(v jsonValue, f *fields, vals []jsonValue) bool {
	clear(vals)
	if v.lead() != '{' {
		d.fault(ir.ErrFormat, "expected %s as an object, got %s", f.what, v.kind())
		return false
	}
	next := 0 // keys mostly come in order
	v.items(func(key, item jsonValue) bool {
		i := f.find(key, next)
		switch {
		case i < 0:
			if d.foreign = true; d.newer {
				k, _ := key.str()
				d.faults.warn("%s: unknown field %q of %s means nothing here", d.record, clip(k), f.what)
			}
		case vals[i].is():
			d.fault(ir.ErrFormat, "field %s of %s is there twice", f.names[i], f.what)
		default:
			vals[i] = item
			next = i + 1
		}
		return true
	})
	return true
}

// require is the second half of object: it notes the fields that are missing.
func (d *decoder) require(f *fields, vals []jsonValue) bool {
	for i, val := range vals {
		switch {
		case i < f.required && !val.is():
			d.fault(ir.ErrFormat, "required field %s of %s is missing", f.names[i], f.what)
		case i >= f.required && val.is() && val.null():
			vals[i] = jsonValue{}
		}
	}
	return true
}

func (f *fields) find(key jsonValue, next int) int {
	raw, escaped := key.raw()
	if escaped {
		raw = []byte(unescape(raw))
	}
	if next < len(f.names) && f.names[next] == string(raw) {
		return next
	}
	for i, name := range f.names {
		if name == string(raw) {
			return i
		}
	}
	return -1
}

// clip shortens text from a file for a message.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:77], "") + "..."
	}
	return s
}

// union returns the one tag of a union and its value.
func (d *decoder) union(v jsonValue, what string) (tag string, value jsonValue, ok bool) {
	if v.lead() != '{' {
		d.fault(ir.ErrFormat, "expected %s as an object with one key, got %s", what, v.kind())
		return "", jsonValue{}, false
	}
	n := 0
	v.items(func(key, item jsonValue) bool {
		tag, _ = key.str()
		value = item
		n++
		return n < 2
	})
	if n != 1 {
		d.fault(ir.ErrFormat, "expected %s with exactly one key, got %d", what, v.len())
		return "", jsonValue{}, false
	}
	return tag, value, true
}

func (d *decoder) mismatch(want string, v jsonValue) {
	d.fault(ir.ErrFormat, "expected %s, got %s", want, v.kind())
}

// The scalar readers take an absent value for the zero value: a fault about it
// has been noted where the field was looked for.

func (d *decoder) str(v jsonValue, what string) string {
	if !v.is() {
		return ""
	}
	s, ok := v.str()
	if !ok {
		d.mismatch(what+" as a string", v)
	}
	return s
}

func (d *decoder) int(v jsonValue, what string) int64 {
	if !v.is() {
		return 0
	}
	n, ok := v.int64()
	if !ok {
		d.mismatch(what+" as a 64-bit integer", v)
	}
	return n
}

func (d *decoder) float(v jsonValue, what string) float64 {
	if !v.is() {
		return 0
	}
	f, ok := v.float64()
	if !ok {
		d.mismatch(what+" as a number", v)
	}
	return f
}

func (d *decoder) bool(v jsonValue, what string) bool {
	if !v.is() {
		return false
	}
	b, ok := v.bool()
	if !ok {
		d.mismatch(what+" as a bool", v)
	}
	return b
}

// list calls f with each item of a list.
func (d *decoder) list(v jsonValue, what string, f func(i int, item jsonValue)) {
	if !v.is() {
		return
	}
	if v.lead() != '[' {
		d.mismatch(what+" as a list", v)
		return
	}
	i := 0
	v.items(func(_, item jsonValue) bool {
		f(i, item)
		i++
		return true
	})
}

// table calls f with each entry of an object whose keys are data.
func (d *decoder) table(v jsonValue, what string, f func(key string, item jsonValue)) {
	if !v.is() {
		return
	}
	if v.lead() != '{' {
		d.mismatch(what+" as an object", v)
		return
	}
	v.items(func(key, item jsonValue) bool {
		k, _ := key.str()
		f(k, item)
		return true
	})
}

func (d *decoder) strings(v jsonValue, what string) []string {
	var out []string
	d.list(v, what, func(_ int, item jsonValue) { out = append(out, d.str(item, what)) })
	return out
}
