package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/torchfx-go/torchfx/internal/install"
)

func TestFlagsSurviveSpaces(t *testing.T) {
	rec := &install.Record{LibDir: "/torch/lib", RuntimeDirs: []string{"/cuda lib"}}
	assert.Equal(t, "-L/out -L/torch/lib -Wl,--as-needed -Wl,-rpath,/out -Wl,-rpath,/torch/lib '-Wl,-rpath-link,/cuda lib'", ldflags("/out", rec))
}

// All that goes into a build names it.
func TestKey(t *testing.T) {
	of := func(change func(b *build)) string {
		b := &build{src: "/src", rec: &install.Record{TorchVersion: "2.15.0", LibDir: "/lib"}, cxx: []string{"g++"}, version: "12", compile: []string{"-O1"}}
		change(b)
		return b.key()
	}
	base := of(func(*build) {})
	assert.Equal(t, base, of(func(*build) {}))
	for name, change := range map[string]func(b *build){
		"sources": func(b *build) { b.src = "/other" }, "libtorch": func(b *build) { b.rec.TorchVersion = "2.16.0" }, "folder": func(b *build) { b.rec.LibDir = "/lib2" },
		"compiler": func(b *build) { b.cxx = []string{"clang++"} }, "version": func(b *build) { b.version = "13" }, "flags": func(b *build) { b.compile = []string{"-O1", "-g"} },
	} {
		assert.NotEqual(t, base, of(change), name)
	}
}
