//go:build !unix

package setup

import (
	"context"
	"errors"
	"os/exec"
)

// Platforms without these calls are refused before they are made; see
// [currentPlatform].

func lock(context.Context, string, func()) (func(), error) {
	return nil, errors.ErrUnsupported
}

func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }

func stopWithChildren(*exec.Cmd) {}
