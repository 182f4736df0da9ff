package passes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/wholefile"
	"github.com/torchfx-go/torchfx/ir"
)

// A choicesFile is the text form of choices: a JSON object. Members of other names are
// passed over; those of version 1 had no number and did not keep layouts of regions.
type choicesFile struct {
	Version int               `json:"version"`
	Machine string            `json:"machine"`
	Choices map[string]Choice `json:"choices"` // by what was asked
}

const (
	choicesVersion = 2
	// maxChoicesBytes bounds a file before any of it is believed. A choice takes some 200
	// bytes, a network a few dozen choices.
	maxChoicesBytes = 16 << 20
)

// OpenChoices reads choices from a file that Save wrote, of this release or one before.
// There are none yet where the file is not there or empty, or where it is of another
// machine, another libtorch or other instructions of the processor that libraries are held
// to (ONEDNN_MAX_CPU_ISA and its kin); regions that another delegate computed are not found
// in it.
//
// A file that is something else, or more than 16 MiB, is an error of class ir.ErrFormat,
// one of a later release of class ir.ErrVersion.
func OpenChoices(name string) (*Choices, error) {
	c := NewChoices()
	file, err := readChoices(name)
	if err != nil {
		return nil, err
	}
	if file.Machine == thisMachine() {
		for key, choice := range file.Choices {
			choice.From = FromFile
			c.chosen[key] = choice
		}
	}
	return c, nil
}

// Save writes the choices to a file, whole or not at all. What the file has of this
// machine besides stays, so that processes may keep theirs in one file at once; what it has
// of another goes. A file that is something else is left as it is, with an error as of
// [OpenChoices]. A link stays one, and permissions stay.
func (c *Choices) Save(name string) error {
	defer lockFolder(filepath.Dir(wholefile.Target(name)))()
	file, err := readChoices(name)
	if err != nil {
		return err
	}
	if machine := thisMachine(); file.Machine != machine || file.Choices == nil {
		file.Machine, file.Choices = machine, map[string]Choice{}
	}
	file.Version = choicesVersion
	c.mu.Lock()
	maps.Copy(file.Choices, c.chosen)
	data, err := json.MarshalIndent(file, "", "\t")
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if len(data) >= maxChoicesBytes {
		return &choicesError{name, ir.Errorf(ir.ErrFormat, "expected at most %d bytes, got %d to write; remove the file", maxChoicesBytes, len(data))}
	}
	err = wholefile.Write(name, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		return &choicesError{name, err}
	}
	return nil
}

// readChoices reads a file. It is the zero value where there is none yet.
func readChoices(name string) (file choicesFile, err error) {
	data, err := readBounded(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return file, nil
	}
	if err == nil {
		file, err = parseChoices(data)
	}
	if err != nil {
		return file, &choicesError{name, err}
	}
	return file, nil
}

// A choicesError is what keeps a file from being read or written.
type choicesError struct {
	name string
	err  error
}

func (e *choicesError) Error() string {
	text := e.err.Error()
	if path, ok := errors.AsType[*fs.PathError](e.err); ok {
		text = path.Err.Error() // the name stands before it
	}
	return fmt.Sprintf("choices %s: %s", e.name, text)
}

func (e *choicesError) Unwrap() error { return e.err }

func readBounded(name string) ([]byte, error) {
	info, err := os.Stat(name) // before it is opened, which for a pipe would wait
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return nil, ir.Errorf(ir.ErrFormat, "expected a file, got a folder")
	case !info.Mode().IsRegular():
		return nil, ir.Errorf(ir.ErrFormat, "expected a file, got what is none (%s)", info.Mode().Type())
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxChoicesBytes+1))
	if err == nil && len(data) > maxChoicesBytes {
		return nil, ir.Errorf(ir.ErrFormat, "expected at most %d bytes, got more", maxChoicesBytes)
	}
	return data, err
}

// parseChoices reads the text of a file. All of a file is believed or none.
func parseChoices(data []byte) (file choicesFile, err error) {
	top := map[string]json.RawMessage{}
	err = eachMember(data, func(name string, value json.RawMessage) error {
		top[name] = value
		return nil
	})
	file.Version = 1
	if version, ok := top["version"]; ok && err == nil {
		err = json.Unmarshal(version, &file.Version)
	}
	if err == nil && file.Version > choicesVersion {
		return file, ir.Errorf(ir.ErrVersion, "expected version %d at most, got %d, which a later release wrote", choicesVersion, file.Version)
	}
	if err == nil && file.Version < 1 {
		err = fmt.Errorf("version %d", file.Version)
	}
	for _, name := range []string{"machine", "choices"} {
		if _, ok := top[name]; !ok && err == nil {
			err = fmt.Errorf("nothing named %q", name)
		}
	}
	if err == nil {
		err = json.Unmarshal(top["machine"], &file.Machine)
	}
	if err == nil {
		file.Choices = map[string]Choice{}
		err = eachMember(top["choices"], func(key string, value json.RawMessage) error {
			choice, err := parseChoice(value)
			if err != nil {
				return fmt.Errorf("%.100q: %w", key, err)
			}
			file.Choices[key] = choice
			return nil
		})
	}
	if err != nil {
		return choicesFile{}, ir.Errorf(ir.ErrFormat, "expected measured choices, got %w", err)
	}
	return file, nil
}

func parseChoice(data []byte) (c Choice, err error) {
	c.Nanos = map[string]float64{}
	err = eachMember(data, func(name string, value json.RawMessage) error {
		switch name {
		case "way":
			return json.Unmarshal(value, &c.Way)
		case "nanos":
			return eachMember(value, func(way string, value json.RawMessage) error {
				nanos := math.NaN() // which null leaves
				if err := json.Unmarshal(value, &nanos); err != nil {
					return err
				}
				if !(nanos >= 0) {
					return fmt.Errorf("a time of %.20s nanoseconds", value)
				}
				c.Nanos[way] = nanos
				return nil
			})
		}
		return nil
	})
	if _, ok := c.Nanos[c.Way]; err == nil && !ok {
		err = fmt.Errorf("the way %.40q without a time", c.Way)
	}
	return c, err
}

// eachMember calls f with the members of a JSON object in their order. A name that
// comes twice is an error: readers differ in which of the two counts.
func eachMember(data []byte, f func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	next := func() (json.Token, error) {
		t, err := d.Token()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return t, err
	}
	if t, err := next(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("%.40q where an object is expected", fmt.Sprint(t))
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := next()
		if err != nil {
			return err
		}
		name := t.(string) // what else cannot be there
		if seen[name] {
			return fmt.Errorf("%.100q twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	if _, err := next(); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more behind its end")
	}
	return nil
}

// openChoices opens the file that KeepChoices names.
func (f *freezer) openChoices() (err error) {
	if f.file != "" {
		f.choices, err = OpenChoices(f.file)
	}
	return err
}

// canKeep looks whether the file that KeepChoices names can be written, before what is
// written there is measured.
func (f *freezer) canKeep() error {
	if f.file == "" || f.keeps {
		return nil
	}
	if err := wholefile.Try(f.file); err != nil {
		return &choicesError{f.file, err}
	}
	f.keeps = true
	return nil
}

// saveChoices writes the file where something was measured that it has not.
func (f *freezer) saveChoices() error {
	if f.file == "" {
		return nil
	}
	f.choices.mu.Lock()
	more := f.choices.more
	f.choices.mu.Unlock()
	if !more {
		return nil
	}
	return f.choices.Save(f.file)
}

// thisMachine tells machines apart between which times do not carry over.
func thisMachine() string {
	capability, version := "", ""
	if info, err := libtorch.GetInfo(); err == nil {
		capability, version = info.CPUCapability, info.TorchVersion
	}
	text := fmt.Sprintf("%s, %s, %s, %d processors, libtorch %s", runtime.GOARCH, processor(), capability, runtime.NumCPU(), version)
	for _, name := range []string{"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS"} {
		if value := os.Getenv(name); value != "" {
			text += fmt.Sprintf(", %s=%s", name, value)
		}
	}
	return text
}

// processor names the model of the processor, "" where that is not known.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // of Linux
	var parts, names []string
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		switch name = strings.TrimSpace(name); name {
		case "model name", "CPU implementer", "CPU part": // the last two on ARM
			if !slices.Contains(names, name) {
				names, parts = append(names, name), append(parts, strings.TrimSpace(value))
			}
		}
	}
	return strings.Join(parts, " ")
}
