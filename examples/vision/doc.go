// Package vision has four networks of torchvision written as Go models: resnet18,
// mobilenet_v2, googlenet and densenet121.
//
// They show how a PyTorch model becomes a Go one: a module is a struct, its
// children are fields, forward is a method. Traced, they give torch.fx's graph of
// torchvision's model to the letter; made under the same seed they have the same
// weights, and with the same weights they return the same bits. The command beside
// them prints and runs them:
//
//	go run ./examples/vision/trace -model googlenet
package vision

import (
	"fmt"

	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// New makes one of the networks by torchvision's name for it, for the thousand
// classes of ImageNet, with fresh weights from the process's generator; see
// torch.ManualSeed. All of them take pictures [N, 3, 224, 224].
func New(name string) (nn.Module, error) {
	make := map[string]func() nn.Module{
		"resnet18":     func() nn.Module { return NewResNet18(1000) },
		"mobilenet_v2": func() nn.Module { return NewMobileNetV2(1000) },
		"googlenet":    func() nn.Module { return NewGoogLeNet(GoogLeNetConfig{Classes: 1000, AuxLogits: true}) },
		"densenet121":  func() nn.Module { return NewDenseNet121(1000) },
	}[name]
	if make == nil {
		return nil, fmt.Errorf("model: expected one of %v, got %s", Names, name)
	}
	return torch.Try(make)
}

// Names are the networks that [New] makes.
var Names = []string{"resnet18", "mobilenet_v2", "googlenet", "densenet121"}
