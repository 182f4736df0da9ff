package torchfx_test

import (
	"testing"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }
