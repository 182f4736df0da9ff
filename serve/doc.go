// Package serve answers the Open Inference Protocol, version 2, over HTTP for
// programs in a folder.
//
// State: the types and signatures stand; [New] answers with an error wrapping
// [ir.ErrUnsupported].
package serve

import (
	"net/http"

	"github.com/torchfx-go/torchfx/ir"
)

// A Config says what a server serves.
type Config struct {
	Repository string    // folder with one folder per model: <name>/<version>/model.pt2
	Device     ir.Device // where programs run
}

// A Server is an http.Handler for the protocol's paths below /v2.
type Server struct{}

// New loads the repository and returns its server.
func New(c Config) (*Server, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "serve: the server is not built yet")
}

// ServeHTTP answers one request of the protocol.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "the server is not built yet", http.StatusNotImplemented)
}

// Close unloads every model. It may be called again.
func (s *Server) Close() error { return nil }
