package export

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A FileFormat is a kind of file, or folder, that holds programs or tensors.
type FileFormat uint8

// The formats.
const (
	UnknownFormat     FileFormat = iota
	ProgramFile                  // .pt2 of torch.export: [Open]
	TorchSaveFile                // of torch.save: [OpenTorchSave]
	SafetensorsFile              // [OpenSafetensors]
	SafetensorsIndex             // of a sharded set: [OpenSafetensors]
	NpyFile                      // [ReadNpy]
	NpzFile                      // [OpenNpz]
	TorchScriptFile              // of torch.jit.save: package script
	AOTInductorFile              // compiled, without a graph: package script
	SavedModuleFolder            // of GraphModule.to_folder: [LoadFolder]
	OtherFolder
)

var formatNames = [...]string{
	"unknown", "exported program", "torch.save", "safetensors", "safetensors index", "npy", "npz", "TorchScript",
	"AOTInductor package", "saved fx module", "folder",
}

// String returns a name for messages.
func (f FileFormat) String() string { return formatNames[f] }

// Identify finds out what a file or folder is, by its content. What is none of the
// formats is UnknownFormat, with an error of class [ir.ErrFormat] that says what it
// looks like; other errors are those of opening it. Only the beginning of a file and
// the directory of an archive are read.
func Identify(path string) (FileFormat, error) {
	info, err := os.Stat(path)
	if err != nil {
		return UnknownFormat, err
	}
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, folderModule)); err == nil {
			return SavedModuleFolder, nil
		}
		return OtherFolder, nil
	}
	s, release, err := openSpan(path)
	if err != nil {
		return UnknownFormat, err
	}
	defer func() { _ = release() }()
	head, err := s.slice(0, min(s.size, 16))
	switch {
	case err != nil:
		return UnknownFormat, err
	case isLegacy(s):
		return TorchSaveFile, nil
	case strings.HasPrefix(string(head), npyMagic):
		return NpyFile, nil
	case isSafetensors(path):
		return SafetensorsFile, nil
	case strings.HasSuffix(path, ".json"):
		return identifyIndex(path)
	}
	a, err := openArchive(s)
	if err != nil {
		return UnknownFormat, err
	}
	a.findRoot()
	return identifyArchive(a)
}

func identifyIndex(path string) (FileFormat, error) {
	text, err := readBounded(path, maxIndex)
	if err != nil {
		return UnknownFormat, err
	}
	if _, err := parseJSON(text, false); err != nil || !strings.Contains(string(text), `"weight_map"`) {
		return UnknownFormat, ir.Errorf(ir.ErrFormat, "expected the index of sharded safetensors, got another .json file")
	}
	return SafetensorsIndex, nil
}

// identifyArchive tells zip archives apart.
func identifyArchive(a *archive) (FileFormat, error) {
	switch {
	case a.has(flatProgram), a.has(archiveFormat) && len(modelNames(a)) > 0:
		return ProgramFile, nil
	case a.has(archiveFormat) && len(a.below(aotiDir)) > 0:
		return AOTInductorFile, nil
	case a.has(archiveFormat):
		return ProgramFile, nil // a broken one, as opening it says
	case a.has("constants.pkl"):
		return TorchScriptFile, nil
	case a.has("data.pkl"):
		return TorchSaveFile, nil
	case slices.ContainsFunc(a.order, func(n string) bool { return strings.HasSuffix(n, ".npy") }),
		slices.ContainsFunc(a.outside, func(n string) bool { return strings.HasSuffix(n, ".npy") }):
		return NpzFile, nil
	}
	_, err := detect(a)
	return UnknownFormat, err
}
