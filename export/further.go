package export

import "slices"

// Later minor versions of the schema add fields to its objects. What they mean is not
// known here. A text that has such is kept as it stands, and where a file is written
// of the program they are put into the objects of the new text that are those of the
// old one: by key, and in lists by name. So fields stay as long as what they are of is
// there, and neither the graph nor who rewrites it has to know of them.

// foreign holds texts with fields that are not known, nil where there are none.
type foreign struct{ program, weights, constants []byte }

// graft returns text with the members that objects of old have beyond the fields of
// their shape. What is in text already is not touched.
func graft(text, old []byte, s *shape) []byte {
	if old == nil {
		return text
	}
	from, err := parseJSON(old, false)
	if err != nil {
		return text
	}
	to, err := parseJSON(text, false)
	if err != nil {
		return text // of a program that is refused
	}
	w := &jsonWriter{b: make([]byte, 0, len(text)+len(text)/4)}
	w.graft(to, from, s)
	return w.b
}

// graft writes v, with what old has beyond what its shape knows.
func (w *jsonWriter) graft(v, old jsonValue, s *shape) {
	switch {
	case s == nil || !old.is() || v.lead() != old.lead() || v.lead() != '{' && v.lead() != '[':
		w.comma()
		w.b = append(w.b, v.text()...)
	case v.lead() == '[':
		partners := partnersOf(v, old)
		i := 0
		w.list(func() {
			v.items(func(_, item jsonValue) bool {
				w.graft(item, partners[i], s.each)
				i++
				return true
			})
		})
	default:
		was := map[string]jsonValue{}
		old.items(func(key, item jsonValue) bool {
			k, _ := key.str()
			was[k] = item
			return true
		})
		w.object(func() {
			has := map[string]bool{}
			v.items(func(key, item jsonValue) bool {
				k, _ := key.str()
				has[k] = true
				w.key(k)
				w.graft(item, was[k], s.of(k))
				return true
			})
			if s.named && v.member("name") != old.member("name") {
				return // of another value
			}
			old.items(func(key, item jsonValue) bool {
				if k, _ := key.str(); !has[k] && s.beyond(key, item) {
					has[k] = true
					w.comma()
					w.b = append(append(append(w.b, key.text()...), ':'), item.text()...)
				}
				return true
			})
		})
	}
}

// partnersOf finds for each item of a list the one of another list that it was: the one of
// the same name, and of those that are left the one at the same place among those of
// the same target, where both lists have as many of these.
func partnersOf(list, old jsonValue) []jsonValue {
	named := map[string][]jsonValue{}
	left := map[string][]jsonValue{} // by target
	old.items(func(_, item jsonValue) bool {
		name := item.identity()
		named[name] = append(named[name], item)
		return true
	})
	var partners []jsonValue
	open := map[string][]int{}
	list.items(func(_, item jsonValue) bool {
		var partner jsonValue
		if name := item.identity(); name != "" && len(named[name]) > 0 {
			partner, named[name] = named[name][0], named[name][1:]
		} else {
			open[item.member("target")] = append(open[item.member("target")], len(partners))
		}
		partners = append(partners, partner)
		return true
	})
	if len(open) == 0 {
		return partners
	}
	taken := map[uint32]bool{}
	for _, p := range partners {
		if p.is() {
			taken[p.tok] = true
		}
	}
	old.items(func(_, item jsonValue) bool {
		if !taken[item.tok] {
			left[item.member("target")] = append(left[item.member("target")], item)
		}
		return true
	})
	for target, places := range open {
		if len(left[target]) == len(places) {
			for i, at := range places {
				partners[at] = left[target][i]
			}
		}
	}
	return partners
}

// identity is what an item of a list is called: itself, or what it is of. "" for one
// without a name.
func (v jsonValue) identity() string {
	for range maxDepth {
		if v.lead() != '{' {
			return ""
		}
		var next jsonValue
		name, union := "", v.len() == 1
		v.items(func(key, item jsonValue) bool {
			switch k, _ := key.str(); {
			case slices.Contains(namingFields, k):
				if s, ok := item.str(); ok && s != "" {
					name = s
				}
			case k == "arg" || union:
				next = item
			case k == "outputs" && item.lead() == '[': // a node without a name has that of its first value
				item.items(func(_, first jsonValue) bool { next = first; return false })
			}
			return name == ""
		})
		if name != "" || !next.is() {
			return name
		}
		v = next
	}
	return ""
}

// namingFields are those that name what an object is or is of.
var namingFields = []string{
	"fqn", "parameter_name", "buffer_name", "tensor_constant_name", "custom_obj_name", "user_input_name", "name", "as_name",
}

// member returns the string that an object has under a key, "" where it has none.
func (v jsonValue) member(key string) string {
	found := ""
	if v.lead() == '{' {
		v.items(func(k, item jsonValue) bool {
			if name, _ := k.str(); name == key {
				found, _ = item.str()
				return false
			}
			return true
		})
	}
	return found
}

// text returns the value as it stands in its text.
func (v jsonValue) text() []byte {
	p := jsonParser{text: v.doc.text, at: int(v.doc.toks[v.tok].pos), lax: true}
	if err := p.one(); err != nil {
		return []byte("null") // not for a text that was parsed
	}
	return v.doc.text[v.doc.toks[v.tok].pos:p.at]
}
