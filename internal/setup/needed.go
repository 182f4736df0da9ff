package setup

import (
	"debug/elf"
	"debug/macho"
	"io"
	"path"
	"path/filepath"
	"strings"
)

// needed returns the base names of the libraries that the shared library r asks
// for, in its order, and the folders of its run path as they stand.
func needed(r io.ReaderAt) (libs, runPath []string, err error) {
	if f, err := macho.NewFile(r); err == nil {
		libs, err = f.ImportedLibraries()
		for i, lib := range libs {
			libs[i] = path.Base(lib)
		}
		return libs, nil, err
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, nil, err
	}
	if libs, err = f.ImportedLibraries(); err != nil {
		return nil, nil, err
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		paths, err := f.DynString(tag)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range paths {
			runPath = append(runPath, strings.Split(p, ":")...)
		}
	}
	return libs, runPath, nil
}

// runtimeDirs returns the folders other than libDir in which libtorch_cpu finds
// the libraries it needs by its own run path. A linker has to be told of them.
func runtimeDirs(libDir string) []string {
	var dirs []string
	seen := map[string]bool{}
	var visit func(file string)
	visit = func(file string) {
		libs, runPath, err := neededOf(file)
		if err != nil {
			return // not a library; loading will say so
		}
		for _, lib := range libs {
			for _, dir := range runPath {
				dir = filepath.Clean(strings.ReplaceAll(dir, "$ORIGIN", filepath.Dir(file)))
				found := filepath.Join(dir, lib)
				if seen[found] {
					break
				}
				if !isFile(found) {
					continue
				}
				seen[found] = true
				if dir != libDir && !seen[dir] {
					seen[dir] = true
					dirs = append(dirs, dir)
				}
				visit(found)
				break
			}
		}
	}
	visit(filepath.Join(libDir, libName("torch_cpu")))
	return dirs
}
