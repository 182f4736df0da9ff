package main

import (
	"github.com/spf13/cobra"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
)

// libraryFlag adds --library to cmd and returns where the files land.
func libraryFlag(cmd *cobra.Command) *[]string {
	files := cmd.Flags().StringArray("library", nil, "open a `FILE` of custom operators first, whose code then runs; may be repeated")
	_ = cmd.MarkFlagFilename("library", "so", "dylib")
	return files
}

// liveOperators opens the libraries and lists the operators of the installed
// libtorch with theirs.
func liveOperators(libraries []string) (*ir.Catalogue, error) {
	if err := libtorch.Open(); err != nil {
		return nil, err
	}
	for _, lib := range libraries {
		if err := libtorch.OpenLibrary(lib); err != nil {
			return nil, err
		}
	}
	return libtorch.Operators()
}

// withLibraries returns the option that makes the operators of libraries known to
// package export, none where there are no libraries: reading needs no libtorch.
func withLibraries(libraries []string) ([]export.Option, error) {
	if len(libraries) == 0 {
		return nil, nil
	}
	operators, err := liveOperators(libraries)
	if err != nil {
		return nil, err
	}
	return []export.Option{export.Operators(operators)}, nil
}
