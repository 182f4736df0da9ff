package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The records that tell one kind of archive from another.
const (
	flatProgram   = "serialized_exported_program.json" // torch 2.1 to 2.7, at the top of the zip
	flatWeights   = "serialized_state_dict.pt"
	flatConstants = "serialized_constants.pt"
	flatSamples   = "serialized_example_inputs.pt"
	flatExtraDir  = "extra_files/"
	archiveFormat = "archive_format"
	defaultModel  = "model" // the name that torch.export.save gives
	modelsDir     = "models/"
	weightsDir    = "data/weights/"
	constantsDir  = "data/constants/"
	samplesDir    = "data/sample_inputs/"
	aotiDir       = "data/aotinductor/"
	extraDir      = "extra/"
)

// others lists the records of an archive that no program is made of: what compilers made of
// it, and what later releases may add.
func (a *archive) others() (names []string) {
	for _, name := range a.order {
		known := slices.ContainsFunc([]string{modelsDir, weightsDir, constantsDir, samplesDir, extraDir, ".data/"}, func(dir string) bool {
			return strings.HasPrefix(name, dir)
		})
		if !known && !slices.Contains([]string{archiveFormat, "archive_version", "version", "byteorder"}, name) {
			names = append(names, name)
		}
	}
	return names
}

// A generation is a form of program archive.
type generation uint8

const (
	flat     generation = 1 + iota // torch 2.1 to 2.7: records at the top, torch.save files inside
	pickled                        // torch 2.8: one root folder, torch.save files inside
	payloads                       // torch 2.9 and later: one root folder, raw payloads
)

// detect finds out what a zip archive is, by its records and never by its name.
// What is no program archive is refused in words that say what it is.
func detect(a *archive) (generation, error) {
	switch {
	case a.has(flatProgram):
		return flat, nil
	case a.has(archiveFormat):
		return detectPackage(a)
	case a.has("constants.pkl"):
		return 0, ir.Errorf(ir.ErrFormat, "this is a TorchScript archive (torch.jit.save), not an exported program; "+
			"open it with package script, or export the model with torch.export")
	case a.has("data.pkl"):
		return 0, ir.Errorf(ir.ErrFormat, "this is a torch.save file (a state dict or other pickled values), not an exported program: it holds no graph; "+
			"its tensors open with export.OpenTorchSave; for a program, export the model with torch.export.export and save that with torch.export.save")
	case len(a.order) == 0 && len(a.outside) == 0:
		return 0, ir.Errorf(ir.ErrFormat, "this is an empty zip archive, not an exported program")
	case slices.ContainsFunc(a.order, func(n string) bool { return strings.HasSuffix(n, ".npy") }):
		return 0, ir.Errorf(ir.ErrFormat, "this is a NumPy .npz archive, not an exported program")
	}
	return 0, ir.Errorf(ir.ErrFormat, "this zip archive was not written by torch.export.save: it has neither %s in its root folder nor %s; "+
		"its first record is %q", archiveFormat, flatProgram, firstName(a))
}

func firstName(a *archive) string {
	if len(a.order) > 0 {
		return a.order[0]
	}
	return a.outside[0]
}

// detectPackage looks into an archive with a root folder and an archive_format.
func detectPackage(a *archive) (generation, error) {
	format, err := a.text(archiveFormat, 64)
	if err != nil {
		return 0, err
	}
	if string(format) != "pt2" {
		return 0, ir.Errorf(ir.ErrFormat, "archive_format: expected pt2, got %q", format)
	}
	version, err := a.text("archive_version", 64)
	if err != nil {
		return 0, err
	}
	if string(version) != "0" {
		return 0, ir.Errorf(ir.ErrVersion, "archive_version %s is not supported (0 is); it was written by a newer torch", version)
	}
	names := modelNames(a)
	switch {
	case len(names) == 0 && len(a.below(aotiDir)) > 0:
		return 0, ir.Errorf(ir.ErrFormat, "this archive holds only compiled AOTInductor parts (%s): no graph in this archive; "+
			"open it with package script, or save the program itself with torch.export.save", aotiDir)
	case len(names) == 0:
		return 0, ir.Errorf(ir.ErrFormat, "record missing: models/model.json; the archive holds no exported program")
	}
	for _, name := range names {
		if a.has(weightsDir+name+".pt") || a.has(constantsDir+name+".pt") {
			return pickled, nil
		}
	}
	return payloads, nil
}

// modelNames lists the programs of an archive, in the order of the file.
func modelNames(a *archive) []string {
	var names []string
	for _, name := range a.below(modelsDir) {
		if model, ok := strings.CutSuffix(strings.TrimPrefix(name, modelsDir), ".json"); ok && model != "" {
			names = append(names, model)
		}
	}
	return names
}

// flatRelease says which release of torch wrote a flat archive, by the schema
// version in its version record.
func flatRelease(version string) string {
	major, _, _ := strings.Cut(version, ".")
	switch major {
	case "1":
		return "torch 2.1 or older"
	case "2", "3", "4", "5", "6":
		return "torch 2.2 to 2.4"
	case "7":
		return "torch 2.5"
	case "8":
		return "torch 2.6 or 2.7"
	}
	return "an unknown release of torch"
}

// checkFlat refuses a flat archive of a schema before that of torch 2.5.
func checkFlat(a *archive) error {
	if !a.has("version") {
		return nil // the program says it too
	}
	version, err := a.text("version", 64)
	if err != nil {
		return err
	}
	v := strings.TrimSpace(string(version))
	if major, _, _ := strings.Cut(v, "."); major == "7" || major == "8" {
		return nil
	}
	return ir.Errorf(ir.ErrVersion, "produced by %s (version record %q): unsupported program format; "+
		"load it with that release of torch and export the model again with torch 2.9 or newer", flatRelease(v), v)
}

// pickModel chooses among the programs of an archive.
func pickModel(a *archive, want string) (string, error) {
	names := modelNames(a)
	switch {
	case want != "" && slices.Contains(names, want):
		return want, nil
	case want != "":
		return "", ir.Errorf(ir.ErrKey, "model %q: expected one of %s", want, quoted(names))
	case len(names) == 1:
		return names[0], nil
	case slices.Contains(names, defaultModel):
		return defaultModel, nil
	}
	return "", ir.Errorf(ir.ErrKey, "archive: holds several programs (%s): say which one", quoted(names))
}

func quoted(names []string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(parts, ", ")
}
