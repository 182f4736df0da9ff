package snake_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/torchfx-go/torchfx/internal/snake"
)

func TestCase(t *testing.T) {
	for name, want := range map[string]string{
		"Weight": "weight", "RunningMean": "running_mean", "Fc1": "fc1", "FC1": "fc1", "BN1": "bn1", "InProjWeight": "in_proj_weight",
		"HTTPServer": "http_server", "x": "x", "": "",
	} {
		assert.Equal(t, want, snake.Case(name), name)
	}
}
