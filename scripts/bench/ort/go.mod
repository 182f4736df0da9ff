module github.com/torchfx-go/torchfx/scripts/bench/ort

go 1.26.0

require (
	github.com/torchfx-go/torchfx v0.0.0
	github.com/yalue/onnxruntime_go v1.27.0
)

replace github.com/torchfx-go/torchfx => ../../..
