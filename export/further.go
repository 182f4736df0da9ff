package export

import "github.com/torchfx-go/torchfx/ir"

// Later minor versions of the schema add fields. What they mean is not known here;
// they are kept as they stand, as members of the object that they are in, and go
// into a file that is written of the program: those of the program, its graphs,
// signature, specs, ranges and module calls by their place, those of nodes, their arguments
// and values with the node, as long as that is there.

const (
	metaFurther      = "torch.export.further"       // furtherFields of a call
	metaFurtherValue = "torch.export.further_value" // string: members of the entry of the value tables
)

// furtherFields are members of a node of the file, and by name of its arguments.
type furtherFields struct {
	node string
	args map[string]string
}

// further returns the members of an object that are no fields of f, as text.
func (d *decoder) further(v jsonValue, f *fields) string {
	if !d.foreign || d.old || v.lead() != '{' { // older files have none, and words that are no JSON
		return ""
	}
	var members []byte
	v.items(func(key, item jsonValue) bool {
		if f.find(key, 0) < 0 {
			if members != nil {
				members = append(members, ',')
			}
			members = append(append(append(members, key.text()...), ':'), item.text()...)
		}
		return true
	})
	return string(members)
}

// keep notes the further members of an object that has a place of its own.
func (d *decoder) keep(place string, v jsonValue, f *fields) {
	if members := d.further(v, f); members != "" {
		if d.kept == nil {
			d.kept = map[string]string{}
		}
		d.kept[place] = members
	}
}

// further notes with a node what the file says of it beyond what is known.
func (n *nodeJSON) addFurther(m *ir.Meta) {
	f := furtherFields{node: n.further}
	for i := range n.inputs {
		if in := &n.inputs[i]; in.further != "" && in.name != "" {
			if f.args == nil {
				f.args = map[string]string{}
			}
			f.args[in.name] = in.further
		}
	}
	if f.node != "" || f.args != nil {
		m.Set(metaFurther, f)
	}
}

// furtherOf returns what addFurther noted.
func furtherOf(n *ir.Node) furtherFields {
	if n == nil {
		return furtherFields{}
	}
	f, _ := n.Meta().Get(metaFurther).(furtherFields)
	return f
}

// members writes members that are text already.
func (w *jsonWriter) members(text string) {
	if text != "" {
		w.comma()
		w.b = append(w.b, text...)
	}
}

// text returns the value as it stands in its text.
func (v jsonValue) text() []byte {
	p := jsonParser{text: v.doc.text, at: int(v.doc.toks[v.tok].pos), lax: true}
	if err := p.one(); err != nil {
		return []byte("null") // not for a text that was parsed
	}
	return v.doc.text[v.doc.toks[v.tok].pos:p.at]
}
