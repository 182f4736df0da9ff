package ir

import (
	"encoding/json"
	"io"
	"strings"
)

// maxCustomDepth bounds the nesting of a file's annotations.
const maxCustomDepth = 32

// customArg reads the annotations of a node, which files hold as JSON, in their
// order. It reports false for a text that is no JSON object.
func customArg(text string) (Dict, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	a, err := jsonValue(d, 0)
	if err != nil {
		return Dict{}, false
	}
	if _, err := d.Token(); err != io.EOF {
		return Dict{}, false
	}
	dict, ok := a.(Dict)
	return dict, ok
}

func jsonValue(d *json.Decoder, depth int) (Arg, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case nil:
		return None{}, nil
	case bool:
		return Bool(v), nil
	case string:
		return Str(v), nil
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return Int(i), nil
		}
		f, err := v.Float64()
		return Float(f), err
	}
	if depth >= maxCustomDepth {
		return nil, Errorf(ErrFormat, "annotation: nested more than %d deep", maxCustomDepth)
	}
	if token == json.Delim('[') {
		var items []Arg
		for d.More() {
			item, err := jsonValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err = d.Token()
		return ListOf(items...), err
	}
	var pairs []Pair
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		pairs = append(pairs, Pair{Str(name), value})
	}
	_, err = d.Token()
	return DictOf(pairs...), err
}
