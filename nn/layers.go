// Code generated from internal/layers/layers.txt by go test ./nn/internal/layers -update. DO NOT EDIT.

package nn

import torch "github.com/torchfx-go/torchfx/torchops"

// AdaptiveAvgPool1d is torch.nn.AdaptiveAvgPool1d(output_size). Its forward is F.adaptive_avg_pool1d(input, self.output_size).
type AdaptiveAvgPool1d struct {
	leaf
}

// NewAdaptiveAvgPool1d returns a new [AdaptiveAvgPool1d]; the arguments that have a default there are options.
func NewAdaptiveAvgPool1d(outputSize any, options ...Option) *AdaptiveAvgPool1d {
	return build(new(AdaptiveAvgPool1d), []any{outputSize}, options)
}

// Forward calls the layer.
func (m *AdaptiveAvgPool1d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// AdaptiveAvgPool2d is torch.nn.AdaptiveAvgPool2d(output_size). Its forward is F.adaptive_avg_pool2d(input, self.output_size).
type AdaptiveAvgPool2d struct {
	leaf
}

// NewAdaptiveAvgPool2d returns a new [AdaptiveAvgPool2d]; the arguments that have a default there are options.
func NewAdaptiveAvgPool2d(outputSize any, options ...Option) *AdaptiveAvgPool2d {
	return build(new(AdaptiveAvgPool2d), []any{outputSize}, options)
}

// Forward calls the layer.
func (m *AdaptiveAvgPool2d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// AdaptiveAvgPool3d is torch.nn.AdaptiveAvgPool3d(output_size). Its forward is F.adaptive_avg_pool3d(input, self.output_size).
type AdaptiveAvgPool3d struct {
	leaf
}

// NewAdaptiveAvgPool3d returns a new [AdaptiveAvgPool3d]; the arguments that have a default there are options.
func NewAdaptiveAvgPool3d(outputSize any, options ...Option) *AdaptiveAvgPool3d {
	return build(new(AdaptiveAvgPool3d), []any{outputSize}, options)
}

// Forward calls the layer.
func (m *AdaptiveAvgPool3d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// AdaptiveMaxPool1d is torch.nn.AdaptiveMaxPool1d(output_size, return_indices=False). Its forward is F.adaptive_max_pool1d(input, self.output_size, self.return_indices).
type AdaptiveMaxPool1d struct {
	leaf
}

// NewAdaptiveMaxPool1d returns a new [AdaptiveMaxPool1d]; the arguments that have a default there are options.
func NewAdaptiveMaxPool1d(outputSize any, options ...Option) *AdaptiveMaxPool1d {
	return build(new(AdaptiveMaxPool1d), []any{outputSize}, options)
}

// Forward calls the layer.
func (m *AdaptiveMaxPool1d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// ForwardIndices calls a layer that was made with return_indices.
func (m *AdaptiveMaxPool1d) ForwardIndices(input *torch.Tensor) (output, indices *torch.Tensor) {
	return two(run(m, nil, input))
}

// AdaptiveMaxPool2d is torch.nn.AdaptiveMaxPool2d(output_size, return_indices=False). Its forward is F.adaptive_max_pool2d(input, self.output_size, self.return_indices).
type AdaptiveMaxPool2d struct {
	leaf
}

// NewAdaptiveMaxPool2d returns a new [AdaptiveMaxPool2d]; the arguments that have a default there are options.
func NewAdaptiveMaxPool2d(outputSize any, options ...Option) *AdaptiveMaxPool2d {
	return build(new(AdaptiveMaxPool2d), []any{outputSize}, options)
}

// Forward calls the layer.
func (m *AdaptiveMaxPool2d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// ForwardIndices calls a layer that was made with return_indices.
func (m *AdaptiveMaxPool2d) ForwardIndices(input *torch.Tensor) (output, indices *torch.Tensor) {
	return two(run(m, nil, input))
}

// AdaptiveMaxPool3d is torch.nn.AdaptiveMaxPool3d(output_size, return_indices=False). Its forward is F.adaptive_max_pool3d(input, self.output_size, self.return_indices).
type AdaptiveMaxPool3d struct {
	leaf
}

// NewAdaptiveMaxPool3d returns a new [AdaptiveMaxPool3d]; the arguments that have a default there are options.
func NewAdaptiveMaxPool3d(outputSize any, options ...Option) *AdaptiveMaxPool3d {
	return build(new(AdaptiveMaxPool3d), []any{outputSize}, options)
}

// Forward calls the layer.
func (m *AdaptiveMaxPool3d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// ForwardIndices calls a layer that was made with return_indices.
func (m *AdaptiveMaxPool3d) ForwardIndices(input *torch.Tensor) (output, indices *torch.Tensor) {
	return two(run(m, nil, input))
}

// AlphaDropout is torch.nn.AlphaDropout(p=0.5, inplace=False). Its forward is F.alpha_dropout(input, self.p, self.training).
type AlphaDropout struct {
	leaf
}

// NewAlphaDropout returns a new [AlphaDropout]; the arguments that have a default there are options.
func NewAlphaDropout(options ...Option) *AlphaDropout { return build(new(AlphaDropout), nil, options) }

// Forward calls the layer.
func (m *AlphaDropout) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// AvgPool1d is torch.nn.AvgPool1d(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True). Its forward is F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad).
type AvgPool1d struct {
	leaf
}

// NewAvgPool1d returns a new [AvgPool1d]; the arguments that have a default there are options.
func NewAvgPool1d(kernelSize any, options ...Option) *AvgPool1d {
	return build(new(AvgPool1d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *AvgPool1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// AvgPool2d is torch.nn.AvgPool2d(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None). Its forward is F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override).
type AvgPool2d struct {
	leaf
}

// NewAvgPool2d returns a new [AvgPool2d]; the arguments that have a default there are options.
func NewAvgPool2d(kernelSize any, options ...Option) *AvgPool2d {
	return build(new(AvgPool2d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *AvgPool2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// AvgPool3d is torch.nn.AvgPool3d(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None). Its forward is F.avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override).
type AvgPool3d struct {
	leaf
}

// NewAvgPool3d returns a new [AvgPool3d]; the arguments that have a default there are options.
func NewAvgPool3d(kernelSize any, options ...Option) *AvgPool3d {
	return build(new(AvgPool3d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *AvgPool3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// BCELoss is torch.nn.BCELoss(weight=None, reduction='mean'). Its forward is F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction).
type BCELoss struct {
	leaf
	Weight *torch.Tensor `nn:",buffer"`
}

// NewBCELoss returns a new [BCELoss]; the arguments that have a default there are options.
func NewBCELoss(options ...Option) *BCELoss { return build(new(BCELoss), nil, options) }

// Forward calls the layer.
func (m *BCELoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// BCEWithLogitsLoss is torch.nn.BCEWithLogitsLoss(weight=None, reduction='mean', pos_weight=None). Its forward is F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction).
type BCEWithLogitsLoss struct {
	leaf
	Weight    *torch.Tensor `nn:",buffer"`
	PosWeight *torch.Tensor `nn:",buffer"`
}

// NewBCEWithLogitsLoss returns a new [BCEWithLogitsLoss]; the arguments that have a default there are options.
func NewBCEWithLogitsLoss(options ...Option) *BCEWithLogitsLoss {
	return build(new(BCEWithLogitsLoss), nil, options)
}

// Forward calls the layer.
func (m *BCEWithLogitsLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// BatchNorm1d is torch.nn.BatchNorm1d(num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True).
type BatchNorm1d struct {
	leaf
	Weight            *torch.Tensor
	Bias              *torch.Tensor
	RunningMean       *torch.Tensor `nn:",buffer"`
	RunningVar        *torch.Tensor `nn:",buffer"`
	NumBatchesTracked *torch.Tensor `nn:",buffer"`
}

// NewBatchNorm1d returns a new [BatchNorm1d]; the arguments that have a default there are options.
func NewBatchNorm1d(numFeatures int, options ...Option) *BatchNorm1d {
	return build(new(BatchNorm1d), []any{numFeatures}, options)
}

// Forward calls the layer.
func (m *BatchNorm1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// BatchNorm2d is torch.nn.BatchNorm2d(num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True).
type BatchNorm2d struct {
	leaf
	Weight            *torch.Tensor
	Bias              *torch.Tensor
	RunningMean       *torch.Tensor `nn:",buffer"`
	RunningVar        *torch.Tensor `nn:",buffer"`
	NumBatchesTracked *torch.Tensor `nn:",buffer"`
}

// NewBatchNorm2d returns a new [BatchNorm2d]; the arguments that have a default there are options.
func NewBatchNorm2d(numFeatures int, options ...Option) *BatchNorm2d {
	return build(new(BatchNorm2d), []any{numFeatures}, options)
}

// Forward calls the layer.
func (m *BatchNorm2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// BatchNorm3d is torch.nn.BatchNorm3d(num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, bias=True).
type BatchNorm3d struct {
	leaf
	Weight            *torch.Tensor
	Bias              *torch.Tensor
	RunningMean       *torch.Tensor `nn:",buffer"`
	RunningVar        *torch.Tensor `nn:",buffer"`
	NumBatchesTracked *torch.Tensor `nn:",buffer"`
}

// NewBatchNorm3d returns a new [BatchNorm3d]; the arguments that have a default there are options.
func NewBatchNorm3d(numFeatures int, options ...Option) *BatchNorm3d {
	return build(new(BatchNorm3d), []any{numFeatures}, options)
}

// Forward calls the layer.
func (m *BatchNorm3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Bilinear is torch.nn.Bilinear(in1_features, in2_features, out_features, bias=True). Its forward is F.bilinear(input1, input2, self.weight, self.bias).
type Bilinear struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewBilinear returns a new [Bilinear]; the arguments that have a default there are options.
func NewBilinear(in1Features int, in2Features int, outFeatures int, options ...Option) *Bilinear {
	return build(new(Bilinear), []any{in1Features, in2Features, outFeatures}, options)
}

// Forward calls the layer.
func (m *Bilinear) Forward(input1 *torch.Tensor, input2 *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input1, input2))
}

// CELU is torch.nn.CELU(alpha=1.0, inplace=False). Its forward is F.celu(input, self.alpha, self.inplace).
type CELU struct {
	leaf
}

// NewCELU returns a new [CELU]; the arguments that have a default there are options.
func NewCELU(options ...Option) *CELU { return build(new(CELU), nil, options) }

// Forward calls the layer.
func (m *CELU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// CTCLoss is torch.nn.CTCLoss(blank=0, reduction='mean', zero_infinity=False). Its forward is F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity).
type CTCLoss struct {
	leaf
}

// NewCTCLoss returns a new [CTCLoss]; the arguments that have a default there are options.
func NewCTCLoss(options ...Option) *CTCLoss { return build(new(CTCLoss), nil, options) }

// Forward calls the layer.
func (m *CTCLoss) Forward(logProbs *torch.Tensor, targets *torch.Tensor, inputLengths any, targetLengths any) *torch.Tensor {
	return one(run(m, nil, logProbs, targets, inputLengths, targetLengths))
}

// ChannelShuffle is torch.nn.ChannelShuffle(groups). Its forward is F.channel_shuffle(input, self.groups).
type ChannelShuffle struct {
	leaf
}

// NewChannelShuffle returns a new [ChannelShuffle]; the arguments that have a default there are options.
func NewChannelShuffle(groups int, options ...Option) *ChannelShuffle {
	return build(new(ChannelShuffle), []any{groups}, options)
}

// Forward calls the layer.
func (m *ChannelShuffle) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// CircularPad1d is torch.nn.CircularPad1d(padding).
type CircularPad1d struct {
	leaf
}

// NewCircularPad1d returns a new [CircularPad1d]; the arguments that have a default there are options.
func NewCircularPad1d(padding any, options ...Option) *CircularPad1d {
	return build(new(CircularPad1d), []any{padding}, options)
}

// Forward calls the layer.
func (m *CircularPad1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// CircularPad2d is torch.nn.CircularPad2d(padding).
type CircularPad2d struct {
	leaf
}

// NewCircularPad2d returns a new [CircularPad2d]; the arguments that have a default there are options.
func NewCircularPad2d(padding any, options ...Option) *CircularPad2d {
	return build(new(CircularPad2d), []any{padding}, options)
}

// Forward calls the layer.
func (m *CircularPad2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// CircularPad3d is torch.nn.CircularPad3d(padding).
type CircularPad3d struct {
	leaf
}

// NewCircularPad3d returns a new [CircularPad3d]; the arguments that have a default there are options.
func NewCircularPad3d(padding any, options ...Option) *CircularPad3d {
	return build(new(CircularPad3d), []any{padding}, options)
}

// Forward calls the layer.
func (m *CircularPad3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ConstantPad1d is torch.nn.ConstantPad1d(padding, value). Its forward is F.pad(input, self.padding, 'constant', self.value).
type ConstantPad1d struct {
	leaf
}

// NewConstantPad1d returns a new [ConstantPad1d]; the arguments that have a default there are options.
func NewConstantPad1d(padding any, value float64, options ...Option) *ConstantPad1d {
	return build(new(ConstantPad1d), []any{padding, value}, options)
}

// Forward calls the layer.
func (m *ConstantPad1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ConstantPad2d is torch.nn.ConstantPad2d(padding, value). Its forward is F.pad(input, self.padding, 'constant', self.value).
type ConstantPad2d struct {
	leaf
}

// NewConstantPad2d returns a new [ConstantPad2d]; the arguments that have a default there are options.
func NewConstantPad2d(padding any, value float64, options ...Option) *ConstantPad2d {
	return build(new(ConstantPad2d), []any{padding, value}, options)
}

// Forward calls the layer.
func (m *ConstantPad2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ConstantPad3d is torch.nn.ConstantPad3d(padding, value). Its forward is F.pad(input, self.padding, 'constant', self.value).
type ConstantPad3d struct {
	leaf
}

// NewConstantPad3d returns a new [ConstantPad3d]; the arguments that have a default there are options.
func NewConstantPad3d(padding any, value float64, options ...Option) *ConstantPad3d {
	return build(new(ConstantPad3d), []any{padding, value}, options)
}

// Forward calls the layer.
func (m *ConstantPad3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Conv1d is torch.nn.Conv1d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode='zeros').
type Conv1d struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewConv1d returns a new [Conv1d]; the arguments that have a default there are options.
func NewConv1d(inChannels int, outChannels int, kernelSize any, options ...Option) *Conv1d {
	return build(new(Conv1d), []any{inChannels, outChannels, kernelSize}, options)
}

// Forward calls the layer.
func (m *Conv1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Conv2d is torch.nn.Conv2d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode='zeros').
type Conv2d struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewConv2d returns a new [Conv2d]; the arguments that have a default there are options.
func NewConv2d(inChannels int, outChannels int, kernelSize any, options ...Option) *Conv2d {
	return build(new(Conv2d), []any{inChannels, outChannels, kernelSize}, options)
}

// Forward calls the layer.
func (m *Conv2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Conv3d is torch.nn.Conv3d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode='zeros').
type Conv3d struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewConv3d returns a new [Conv3d]; the arguments that have a default there are options.
func NewConv3d(inChannels int, outChannels int, kernelSize any, options ...Option) *Conv3d {
	return build(new(Conv3d), []any{inChannels, outChannels, kernelSize}, options)
}

// Forward calls the layer.
func (m *Conv3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ConvTranspose1d is torch.nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, padding_mode='zeros').
type ConvTranspose1d struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewConvTranspose1d returns a new [ConvTranspose1d]; the arguments that have a default there are options.
func NewConvTranspose1d(inChannels int, outChannels int, kernelSize any, options ...Option) *ConvTranspose1d {
	return build(new(ConvTranspose1d), []any{inChannels, outChannels, kernelSize}, options)
}

// Forward calls the layer.
func (m *ConvTranspose1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ForwardWith is [ConvTranspose1d.Forward] with output_size as options.
func (m *ConvTranspose1d) ForwardWith(input *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, input))
}

// ConvTranspose2d is torch.nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, padding_mode='zeros').
type ConvTranspose2d struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewConvTranspose2d returns a new [ConvTranspose2d]; the arguments that have a default there are options.
func NewConvTranspose2d(inChannels int, outChannels int, kernelSize any, options ...Option) *ConvTranspose2d {
	return build(new(ConvTranspose2d), []any{inChannels, outChannels, kernelSize}, options)
}

// Forward calls the layer.
func (m *ConvTranspose2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ForwardWith is [ConvTranspose2d.Forward] with output_size as options.
func (m *ConvTranspose2d) ForwardWith(input *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, input))
}

// ConvTranspose3d is torch.nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, padding_mode='zeros').
type ConvTranspose3d struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewConvTranspose3d returns a new [ConvTranspose3d]; the arguments that have a default there are options.
func NewConvTranspose3d(inChannels int, outChannels int, kernelSize any, options ...Option) *ConvTranspose3d {
	return build(new(ConvTranspose3d), []any{inChannels, outChannels, kernelSize}, options)
}

// Forward calls the layer.
func (m *ConvTranspose3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ForwardWith is [ConvTranspose3d.Forward] with output_size as options.
func (m *ConvTranspose3d) ForwardWith(input *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, input))
}

// CosineEmbeddingLoss is torch.nn.CosineEmbeddingLoss(margin=0.0, reduction='mean'). Its forward is F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction).
type CosineEmbeddingLoss struct {
	leaf
}

// NewCosineEmbeddingLoss returns a new [CosineEmbeddingLoss]; the arguments that have a default there are options.
func NewCosineEmbeddingLoss(options ...Option) *CosineEmbeddingLoss {
	return build(new(CosineEmbeddingLoss), nil, options)
}

// Forward calls the layer.
func (m *CosineEmbeddingLoss) Forward(input1 *torch.Tensor, input2 *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input1, input2, target))
}

// CosineSimilarity is torch.nn.CosineSimilarity(dim=1, eps=1e-08). Its forward is F.cosine_similarity(x1, x2, self.dim, self.eps).
type CosineSimilarity struct {
	leaf
}

// NewCosineSimilarity returns a new [CosineSimilarity]; the arguments that have a default there are options.
func NewCosineSimilarity(options ...Option) *CosineSimilarity {
	return build(new(CosineSimilarity), nil, options)
}

// Forward calls the layer.
func (m *CosineSimilarity) Forward(x1 *torch.Tensor, x2 *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, x1, x2))
}

// CrossEntropyLoss is torch.nn.CrossEntropyLoss(weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0). Its forward is F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction, label_smoothing=self.label_smoothing).
type CrossEntropyLoss struct {
	leaf
	Weight *torch.Tensor `nn:",buffer"`
}

// NewCrossEntropyLoss returns a new [CrossEntropyLoss]; the arguments that have a default there are options.
func NewCrossEntropyLoss(options ...Option) *CrossEntropyLoss {
	return build(new(CrossEntropyLoss), nil, options)
}

// Forward calls the layer.
func (m *CrossEntropyLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// Dropout is torch.nn.Dropout(p=0.5, inplace=False). Its forward is F.dropout(input, self.p, self.training, self.inplace).
type Dropout struct {
	leaf
}

// NewDropout returns a new [Dropout]; the arguments that have a default there are options.
func NewDropout(options ...Option) *Dropout { return build(new(Dropout), nil, options) }

// Forward calls the layer.
func (m *Dropout) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Dropout1d is torch.nn.Dropout1d(p=0.5, inplace=False). Its forward is F.dropout1d(input, self.p, self.training, self.inplace).
type Dropout1d struct {
	leaf
}

// NewDropout1d returns a new [Dropout1d]; the arguments that have a default there are options.
func NewDropout1d(options ...Option) *Dropout1d { return build(new(Dropout1d), nil, options) }

// Forward calls the layer.
func (m *Dropout1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Dropout2d is torch.nn.Dropout2d(p=0.5, inplace=False). Its forward is F.dropout2d(input, self.p, self.training, self.inplace).
type Dropout2d struct {
	leaf
}

// NewDropout2d returns a new [Dropout2d]; the arguments that have a default there are options.
func NewDropout2d(options ...Option) *Dropout2d { return build(new(Dropout2d), nil, options) }

// Forward calls the layer.
func (m *Dropout2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Dropout3d is torch.nn.Dropout3d(p=0.5, inplace=False). Its forward is F.dropout3d(input, self.p, self.training, self.inplace).
type Dropout3d struct {
	leaf
}

// NewDropout3d returns a new [Dropout3d]; the arguments that have a default there are options.
func NewDropout3d(options ...Option) *Dropout3d { return build(new(Dropout3d), nil, options) }

// Forward calls the layer.
func (m *Dropout3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ELU is torch.nn.ELU(alpha=1.0, inplace=False). Its forward is F.elu(input, self.alpha, self.inplace).
type ELU struct {
	leaf
}

// NewELU returns a new [ELU]; the arguments that have a default there are options.
func NewELU(options ...Option) *ELU { return build(new(ELU), nil, options) }

// Forward calls the layer.
func (m *ELU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Embedding is torch.nn.Embedding(num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False). Its forward is F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse).
type Embedding struct {
	leaf
	Weight *torch.Tensor
}

// NewEmbedding returns a new [Embedding]; the arguments that have a default there are options.
func NewEmbedding(numEmbeddings int, embeddingDim int, options ...Option) *Embedding {
	return build(new(Embedding), []any{numEmbeddings, embeddingDim}, options)
}

// Forward calls the layer.
func (m *Embedding) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// EmbeddingBag is torch.nn.EmbeddingBag(num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', sparse=False, include_last_offset=False, padding_idx=None). Its forward is F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx).
type EmbeddingBag struct {
	leaf
	Weight *torch.Tensor
}

// NewEmbeddingBag returns a new [EmbeddingBag]; the arguments that have a default there are options.
func NewEmbeddingBag(numEmbeddings int, embeddingDim int, options ...Option) *EmbeddingBag {
	return build(new(EmbeddingBag), []any{numEmbeddings, embeddingDim}, options)
}

// Forward calls the layer.
func (m *EmbeddingBag) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ForwardWith is [EmbeddingBag.Forward] with offsets, per_sample_weights as options.
func (m *EmbeddingBag) ForwardWith(input *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, input))
}

// FeatureAlphaDropout is torch.nn.FeatureAlphaDropout(p=0.5, inplace=False). Its forward is F.feature_alpha_dropout(input, self.p, self.training).
type FeatureAlphaDropout struct {
	leaf
}

// NewFeatureAlphaDropout returns a new [FeatureAlphaDropout]; the arguments that have a default there are options.
func NewFeatureAlphaDropout(options ...Option) *FeatureAlphaDropout {
	return build(new(FeatureAlphaDropout), nil, options)
}

// Forward calls the layer.
func (m *FeatureAlphaDropout) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// Flatten is torch.nn.Flatten(start_dim=1, end_dim=-1). Its forward is input.flatten(self.start_dim, self.end_dim).
type Flatten struct {
	leaf
}

// NewFlatten returns a new [Flatten]; the arguments that have a default there are options.
func NewFlatten(options ...Option) *Flatten { return build(new(Flatten), nil, options) }

// Forward calls the layer.
func (m *Flatten) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Fold is torch.nn.Fold(output_size, kernel_size, dilation=1, padding=0, stride=1). Its forward is F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride).
type Fold struct {
	leaf
}

// NewFold returns a new [Fold]; the arguments that have a default there are options.
func NewFold(outputSize any, kernelSize any, options ...Option) *Fold {
	return build(new(Fold), []any{outputSize, kernelSize}, options)
}

// Forward calls the layer.
func (m *Fold) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// FractionalMaxPool2d is torch.nn.FractionalMaxPool2d(kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None). Its forward is F.fractional_max_pool2d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples).
type FractionalMaxPool2d struct {
	leaf
	RandomSamples *torch.Tensor `nn:"_random_samples,buffer"`
}

// NewFractionalMaxPool2d returns a new [FractionalMaxPool2d]; the arguments that have a default there are options.
func NewFractionalMaxPool2d(kernelSize any, options ...Option) *FractionalMaxPool2d {
	return build(new(FractionalMaxPool2d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *FractionalMaxPool2d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// ForwardIndices calls a layer that was made with return_indices.
func (m *FractionalMaxPool2d) ForwardIndices(input *torch.Tensor) (output, indices *torch.Tensor) {
	return two(run(m, nil, input))
}

// FractionalMaxPool3d is torch.nn.FractionalMaxPool3d(kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None). Its forward is F.fractional_max_pool3d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples).
type FractionalMaxPool3d struct {
	leaf
	RandomSamples *torch.Tensor `nn:"_random_samples,buffer"`
}

// NewFractionalMaxPool3d returns a new [FractionalMaxPool3d]; the arguments that have a default there are options.
func NewFractionalMaxPool3d(kernelSize any, options ...Option) *FractionalMaxPool3d {
	return build(new(FractionalMaxPool3d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *FractionalMaxPool3d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// ForwardIndices calls a layer that was made with return_indices.
func (m *FractionalMaxPool3d) ForwardIndices(input *torch.Tensor) (output, indices *torch.Tensor) {
	return two(run(m, nil, input))
}

// GELU is torch.nn.GELU(approximate='none'). Its forward is F.gelu(input, approximate=self.approximate).
type GELU struct {
	leaf
}

// NewGELU returns a new [GELU]; the arguments that have a default there are options.
func NewGELU(options ...Option) *GELU { return build(new(GELU), nil, options) }

// Forward calls the layer.
func (m *GELU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// GLU is torch.nn.GLU(dim=-1). Its forward is F.glu(input, self.dim).
type GLU struct {
	leaf
}

// NewGLU returns a new [GLU]; the arguments that have a default there are options.
func NewGLU(options ...Option) *GLU { return build(new(GLU), nil, options) }

// Forward calls the layer.
func (m *GLU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// GaussianNLLLoss is torch.nn.GaussianNLLLoss(full=False, eps=1e-06, reduction='mean'). Its forward is F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction).
type GaussianNLLLoss struct {
	leaf
}

// NewGaussianNLLLoss returns a new [GaussianNLLLoss]; the arguments that have a default there are options.
func NewGaussianNLLLoss(options ...Option) *GaussianNLLLoss {
	return build(new(GaussianNLLLoss), nil, options)
}

// Forward calls the layer.
func (m *GaussianNLLLoss) Forward(input *torch.Tensor, target *torch.Tensor, variance any) *torch.Tensor {
	return one(run(m, nil, input, target, variance))
}

// GroupNorm is torch.nn.GroupNorm(num_groups, num_channels, eps=1e-05, affine=True, bias=True). Its forward is F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps).
type GroupNorm struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewGroupNorm returns a new [GroupNorm]; the arguments that have a default there are options.
func NewGroupNorm(numGroups int, numChannels int, options ...Option) *GroupNorm {
	return build(new(GroupNorm), []any{numGroups, numChannels}, options)
}

// Forward calls the layer.
func (m *GroupNorm) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Hardshrink is torch.nn.Hardshrink(lambd=0.5). Its forward is F.hardshrink(input, self.lambd).
type Hardshrink struct {
	leaf
}

// NewHardshrink returns a new [Hardshrink]; the arguments that have a default there are options.
func NewHardshrink(options ...Option) *Hardshrink { return build(new(Hardshrink), nil, options) }

// Forward calls the layer.
func (m *Hardshrink) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Hardsigmoid is torch.nn.Hardsigmoid(inplace=False). Its forward is F.hardsigmoid(input, self.inplace).
type Hardsigmoid struct {
	leaf
}

// NewHardsigmoid returns a new [Hardsigmoid]; the arguments that have a default there are options.
func NewHardsigmoid(options ...Option) *Hardsigmoid { return build(new(Hardsigmoid), nil, options) }

// Forward calls the layer.
func (m *Hardsigmoid) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Hardswish is torch.nn.Hardswish(inplace=False). Its forward is F.hardswish(input, self.inplace).
type Hardswish struct {
	leaf
}

// NewHardswish returns a new [Hardswish]; the arguments that have a default there are options.
func NewHardswish(options ...Option) *Hardswish { return build(new(Hardswish), nil, options) }

// Forward calls the layer.
func (m *Hardswish) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Hardtanh is torch.nn.Hardtanh(min_val=-1.0, max_val=1.0, inplace=False). Its forward is F.hardtanh(input, self.min_val, self.max_val, self.inplace).
type Hardtanh struct {
	leaf
}

// NewHardtanh returns a new [Hardtanh]; the arguments that have a default there are options.
func NewHardtanh(options ...Option) *Hardtanh { return build(new(Hardtanh), nil, options) }

// Forward calls the layer.
func (m *Hardtanh) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// HingeEmbeddingLoss is torch.nn.HingeEmbeddingLoss(margin=1.0, reduction='mean'). Its forward is F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction).
type HingeEmbeddingLoss struct {
	leaf
}

// NewHingeEmbeddingLoss returns a new [HingeEmbeddingLoss]; the arguments that have a default there are options.
func NewHingeEmbeddingLoss(options ...Option) *HingeEmbeddingLoss {
	return build(new(HingeEmbeddingLoss), nil, options)
}

// Forward calls the layer.
func (m *HingeEmbeddingLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// HuberLoss is torch.nn.HuberLoss(reduction='mean', delta=1.0). Its forward is F.huber_loss(input, target, reduction=self.reduction, delta=self.delta).
type HuberLoss struct {
	leaf
}

// NewHuberLoss returns a new [HuberLoss]; the arguments that have a default there are options.
func NewHuberLoss(options ...Option) *HuberLoss { return build(new(HuberLoss), nil, options) }

// Forward calls the layer.
func (m *HuberLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// Identity is torch.nn.Identity(). Its forward is input.
type Identity struct {
	leaf
}

// NewIdentity returns a new [Identity]; the arguments that have a default there are options.
func NewIdentity(options ...Option) *Identity { return build(new(Identity), nil, options) }

// Forward calls the layer.
func (m *Identity) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// InstanceNorm1d is torch.nn.InstanceNorm1d(num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False, bias=True).
type InstanceNorm1d struct {
	leaf
	Weight            *torch.Tensor
	Bias              *torch.Tensor
	RunningMean       *torch.Tensor `nn:",buffer"`
	RunningVar        *torch.Tensor `nn:",buffer"`
	NumBatchesTracked *torch.Tensor `nn:",buffer"`
}

// NewInstanceNorm1d returns a new [InstanceNorm1d]; the arguments that have a default there are options.
func NewInstanceNorm1d(numFeatures int, options ...Option) *InstanceNorm1d {
	return build(new(InstanceNorm1d), []any{numFeatures}, options)
}

// Forward calls the layer.
func (m *InstanceNorm1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// InstanceNorm2d is torch.nn.InstanceNorm2d(num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False, bias=True).
type InstanceNorm2d struct {
	leaf
	Weight            *torch.Tensor
	Bias              *torch.Tensor
	RunningMean       *torch.Tensor `nn:",buffer"`
	RunningVar        *torch.Tensor `nn:",buffer"`
	NumBatchesTracked *torch.Tensor `nn:",buffer"`
}

// NewInstanceNorm2d returns a new [InstanceNorm2d]; the arguments that have a default there are options.
func NewInstanceNorm2d(numFeatures int, options ...Option) *InstanceNorm2d {
	return build(new(InstanceNorm2d), []any{numFeatures}, options)
}

// Forward calls the layer.
func (m *InstanceNorm2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// InstanceNorm3d is torch.nn.InstanceNorm3d(num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False, bias=True).
type InstanceNorm3d struct {
	leaf
	Weight            *torch.Tensor
	Bias              *torch.Tensor
	RunningMean       *torch.Tensor `nn:",buffer"`
	RunningVar        *torch.Tensor `nn:",buffer"`
	NumBatchesTracked *torch.Tensor `nn:",buffer"`
}

// NewInstanceNorm3d returns a new [InstanceNorm3d]; the arguments that have a default there are options.
func NewInstanceNorm3d(numFeatures int, options ...Option) *InstanceNorm3d {
	return build(new(InstanceNorm3d), []any{numFeatures}, options)
}

// Forward calls the layer.
func (m *InstanceNorm3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// KLDivLoss is torch.nn.KLDivLoss(reduction='mean', log_target=False). Its forward is F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target).
type KLDivLoss struct {
	leaf
}

// NewKLDivLoss returns a new [KLDivLoss]; the arguments that have a default there are options.
func NewKLDivLoss(options ...Option) *KLDivLoss { return build(new(KLDivLoss), nil, options) }

// Forward calls the layer.
func (m *KLDivLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// NonDynamicallyQuantizableLinear is torch.nn.NonDynamicallyQuantizableLinear(in_features, out_features, bias=True). Its forward is F.linear(input, self.weight, self.bias).
type NonDynamicallyQuantizableLinear struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewNonDynamicallyQuantizableLinear returns a new [NonDynamicallyQuantizableLinear]; the arguments that have a default there are options.
func NewNonDynamicallyQuantizableLinear(inFeatures int, outFeatures int, options ...Option) *NonDynamicallyQuantizableLinear {
	return build(new(NonDynamicallyQuantizableLinear), []any{inFeatures, outFeatures}, options)
}

// Forward calls the layer.
func (m *NonDynamicallyQuantizableLinear) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// L1Loss is torch.nn.L1Loss(reduction='mean'). Its forward is F.l1_loss(input, target, reduction=self.reduction).
type L1Loss struct {
	leaf
}

// NewL1Loss returns a new [L1Loss]; the arguments that have a default there are options.
func NewL1Loss(options ...Option) *L1Loss { return build(new(L1Loss), nil, options) }

// Forward calls the layer.
func (m *L1Loss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// LPPool1d is torch.nn.LPPool1d(norm_type, kernel_size, stride=None, ceil_mode=False). Its forward is F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode).
type LPPool1d struct {
	leaf
}

// NewLPPool1d returns a new [LPPool1d]; the arguments that have a default there are options.
func NewLPPool1d(normType float64, kernelSize any, options ...Option) *LPPool1d {
	return build(new(LPPool1d), []any{normType, kernelSize}, options)
}

// Forward calls the layer.
func (m *LPPool1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// LPPool2d is torch.nn.LPPool2d(norm_type, kernel_size, stride=None, ceil_mode=False). Its forward is F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode).
type LPPool2d struct {
	leaf
}

// NewLPPool2d returns a new [LPPool2d]; the arguments that have a default there are options.
func NewLPPool2d(normType float64, kernelSize any, options ...Option) *LPPool2d {
	return build(new(LPPool2d), []any{normType, kernelSize}, options)
}

// Forward calls the layer.
func (m *LPPool2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// LPPool3d is torch.nn.LPPool3d(norm_type, kernel_size, stride=None, ceil_mode=False). Its forward is F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode).
type LPPool3d struct {
	leaf
}

// NewLPPool3d returns a new [LPPool3d]; the arguments that have a default there are options.
func NewLPPool3d(normType float64, kernelSize any, options ...Option) *LPPool3d {
	return build(new(LPPool3d), []any{normType, kernelSize}, options)
}

// Forward calls the layer.
func (m *LPPool3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// LayerNorm is torch.nn.LayerNorm(normalized_shape, eps=1e-05, elementwise_affine=True, bias=True). Its forward is F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps).
type LayerNorm struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewLayerNorm returns a new [LayerNorm]; the arguments that have a default there are options.
func NewLayerNorm(normalizedShape any, options ...Option) *LayerNorm {
	return build(new(LayerNorm), []any{normalizedShape}, options)
}

// Forward calls the layer.
func (m *LayerNorm) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// LeakyReLU is torch.nn.LeakyReLU(negative_slope=0.01, inplace=False). Its forward is F.leaky_relu(input, self.negative_slope, self.inplace).
type LeakyReLU struct {
	leaf
}

// NewLeakyReLU returns a new [LeakyReLU]; the arguments that have a default there are options.
func NewLeakyReLU(options ...Option) *LeakyReLU { return build(new(LeakyReLU), nil, options) }

// Forward calls the layer.
func (m *LeakyReLU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Linear is torch.nn.Linear(in_features, out_features, bias=True). Its forward is F.linear(input, self.weight, self.bias).
type Linear struct {
	leaf
	Weight *torch.Tensor
	Bias   *torch.Tensor
}

// NewLinear returns a new [Linear]; the arguments that have a default there are options.
func NewLinear(inFeatures int, outFeatures int, options ...Option) *Linear {
	return build(new(Linear), []any{inFeatures, outFeatures}, options)
}

// Forward calls the layer.
func (m *Linear) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// LocalResponseNorm is torch.nn.LocalResponseNorm(size, alpha=0.0001, beta=0.75, k=1.0). Its forward is F.local_response_norm(input, self.size, self.alpha, self.beta, self.k).
type LocalResponseNorm struct {
	leaf
}

// NewLocalResponseNorm returns a new [LocalResponseNorm]; the arguments that have a default there are options.
func NewLocalResponseNorm(size int, options ...Option) *LocalResponseNorm {
	return build(new(LocalResponseNorm), []any{size}, options)
}

// Forward calls the layer.
func (m *LocalResponseNorm) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// LogSigmoid is torch.nn.LogSigmoid(). Its forward is F.logsigmoid(input).
type LogSigmoid struct {
	leaf
}

// NewLogSigmoid returns a new [LogSigmoid]; the arguments that have a default there are options.
func NewLogSigmoid(options ...Option) *LogSigmoid { return build(new(LogSigmoid), nil, options) }

// Forward calls the layer.
func (m *LogSigmoid) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// LogSoftmax is torch.nn.LogSoftmax(dim=None). Its forward is F.log_softmax(input, self.dim, _stacklevel=5).
type LogSoftmax struct {
	leaf
}

// NewLogSoftmax returns a new [LogSoftmax]; the arguments that have a default there are options.
func NewLogSoftmax(options ...Option) *LogSoftmax { return build(new(LogSoftmax), nil, options) }

// Forward calls the layer.
func (m *LogSoftmax) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// MSELoss is torch.nn.MSELoss(reduction='mean'). Its forward is F.mse_loss(input, target, reduction=self.reduction).
type MSELoss struct {
	leaf
}

// NewMSELoss returns a new [MSELoss]; the arguments that have a default there are options.
func NewMSELoss(options ...Option) *MSELoss { return build(new(MSELoss), nil, options) }

// Forward calls the layer.
func (m *MSELoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// MarginRankingLoss is torch.nn.MarginRankingLoss(margin=0.0, reduction='mean'). Its forward is F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction).
type MarginRankingLoss struct {
	leaf
}

// NewMarginRankingLoss returns a new [MarginRankingLoss]; the arguments that have a default there are options.
func NewMarginRankingLoss(options ...Option) *MarginRankingLoss {
	return build(new(MarginRankingLoss), nil, options)
}

// Forward calls the layer.
func (m *MarginRankingLoss) Forward(input1 *torch.Tensor, input2 *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input1, input2, target))
}

// MaxPool1d is torch.nn.MaxPool1d(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False). Its forward is F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices).
type MaxPool1d struct {
	leaf
}

// NewMaxPool1d returns a new [MaxPool1d]; the arguments that have a default there are options.
func NewMaxPool1d(kernelSize any, options ...Option) *MaxPool1d {
	return build(new(MaxPool1d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *MaxPool1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ForwardIndices calls a layer that was made with return_indices.
func (m *MaxPool1d) ForwardIndices(input *torch.Tensor) (output, indices *torch.Tensor) {
	return two(run(m, nil, input))
}

// MaxPool2d is torch.nn.MaxPool2d(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False). Its forward is F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices).
type MaxPool2d struct {
	leaf
}

// NewMaxPool2d returns a new [MaxPool2d]; the arguments that have a default there are options.
func NewMaxPool2d(kernelSize any, options ...Option) *MaxPool2d {
	return build(new(MaxPool2d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *MaxPool2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ForwardIndices calls a layer that was made with return_indices.
func (m *MaxPool2d) ForwardIndices(input *torch.Tensor) (output, indices *torch.Tensor) {
	return two(run(m, nil, input))
}

// MaxPool3d is torch.nn.MaxPool3d(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False). Its forward is F.max_pool3d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices).
type MaxPool3d struct {
	leaf
}

// NewMaxPool3d returns a new [MaxPool3d]; the arguments that have a default there are options.
func NewMaxPool3d(kernelSize any, options ...Option) *MaxPool3d {
	return build(new(MaxPool3d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *MaxPool3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ForwardIndices calls a layer that was made with return_indices.
func (m *MaxPool3d) ForwardIndices(input *torch.Tensor) (output, indices *torch.Tensor) {
	return two(run(m, nil, input))
}

// MaxUnpool1d is torch.nn.MaxUnpool1d(kernel_size, stride=None, padding=0). Its forward is F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size).
type MaxUnpool1d struct {
	leaf
}

// NewMaxUnpool1d returns a new [MaxUnpool1d]; the arguments that have a default there are options.
func NewMaxUnpool1d(kernelSize any, options ...Option) *MaxUnpool1d {
	return build(new(MaxUnpool1d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *MaxUnpool1d) Forward(input *torch.Tensor, indices *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, indices))
}

// ForwardWith is [MaxUnpool1d.Forward] with output_size as options.
func (m *MaxUnpool1d) ForwardWith(input *torch.Tensor, indices *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, input, indices))
}

// MaxUnpool2d is torch.nn.MaxUnpool2d(kernel_size, stride=None, padding=0). Its forward is F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size).
type MaxUnpool2d struct {
	leaf
}

// NewMaxUnpool2d returns a new [MaxUnpool2d]; the arguments that have a default there are options.
func NewMaxUnpool2d(kernelSize any, options ...Option) *MaxUnpool2d {
	return build(new(MaxUnpool2d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *MaxUnpool2d) Forward(input *torch.Tensor, indices *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, indices))
}

// ForwardWith is [MaxUnpool2d.Forward] with output_size as options.
func (m *MaxUnpool2d) ForwardWith(input *torch.Tensor, indices *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, input, indices))
}

// MaxUnpool3d is torch.nn.MaxUnpool3d(kernel_size, stride=None, padding=0). Its forward is F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size).
type MaxUnpool3d struct {
	leaf
}

// NewMaxUnpool3d returns a new [MaxUnpool3d]; the arguments that have a default there are options.
func NewMaxUnpool3d(kernelSize any, options ...Option) *MaxUnpool3d {
	return build(new(MaxUnpool3d), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *MaxUnpool3d) Forward(input *torch.Tensor, indices *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, indices))
}

// ForwardWith is [MaxUnpool3d.Forward] with output_size as options.
func (m *MaxUnpool3d) ForwardWith(input *torch.Tensor, indices *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, input, indices))
}

// Mish is torch.nn.Mish(inplace=False). Its forward is F.mish(input, inplace=self.inplace).
type Mish struct {
	leaf
}

// NewMish returns a new [Mish]; the arguments that have a default there are options.
func NewMish(options ...Option) *Mish { return build(new(Mish), nil, options) }

// Forward calls the layer.
func (m *Mish) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// MultiLabelMarginLoss is torch.nn.MultiLabelMarginLoss(reduction='mean'). Its forward is F.multilabel_margin_loss(input, target, reduction=self.reduction).
type MultiLabelMarginLoss struct {
	leaf
}

// NewMultiLabelMarginLoss returns a new [MultiLabelMarginLoss]; the arguments that have a default there are options.
func NewMultiLabelMarginLoss(options ...Option) *MultiLabelMarginLoss {
	return build(new(MultiLabelMarginLoss), nil, options)
}

// Forward calls the layer.
func (m *MultiLabelMarginLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// MultiLabelSoftMarginLoss is torch.nn.MultiLabelSoftMarginLoss(weight=None, reduction='mean'). Its forward is F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction).
type MultiLabelSoftMarginLoss struct {
	leaf
	Weight *torch.Tensor `nn:",buffer"`
}

// NewMultiLabelSoftMarginLoss returns a new [MultiLabelSoftMarginLoss]; the arguments that have a default there are options.
func NewMultiLabelSoftMarginLoss(options ...Option) *MultiLabelSoftMarginLoss {
	return build(new(MultiLabelSoftMarginLoss), nil, options)
}

// Forward calls the layer.
func (m *MultiLabelSoftMarginLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// MultiMarginLoss is torch.nn.MultiMarginLoss(p=1, margin=1.0, weight=None, reduction='mean'). Its forward is F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction).
type MultiMarginLoss struct {
	leaf
	Weight *torch.Tensor `nn:",buffer"`
}

// NewMultiMarginLoss returns a new [MultiMarginLoss]; the arguments that have a default there are options.
func NewMultiMarginLoss(options ...Option) *MultiMarginLoss {
	return build(new(MultiMarginLoss), nil, options)
}

// Forward calls the layer.
func (m *MultiMarginLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// NLLLoss is torch.nn.NLLLoss(weight=None, ignore_index=-100, reduction='mean'). Its forward is F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction).
type NLLLoss struct {
	leaf
	Weight *torch.Tensor `nn:",buffer"`
}

// NewNLLLoss returns a new [NLLLoss]; the arguments that have a default there are options.
func NewNLLLoss(options ...Option) *NLLLoss { return build(new(NLLLoss), nil, options) }

// Forward calls the layer.
func (m *NLLLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// PReLU is torch.nn.PReLU(num_parameters=1, init=0.25). Its forward is F.prelu(input, self.weight).
type PReLU struct {
	leaf
	Weight *torch.Tensor
}

// NewPReLU returns a new [PReLU]; the arguments that have a default there are options.
func NewPReLU(options ...Option) *PReLU { return build(new(PReLU), nil, options) }

// Forward calls the layer.
func (m *PReLU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// PairwiseDistance is torch.nn.PairwiseDistance(p=2.0, eps=1e-06, keepdim=False). Its forward is F.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim).
type PairwiseDistance struct {
	leaf
}

// NewPairwiseDistance returns a new [PairwiseDistance]; the arguments that have a default there are options.
func NewPairwiseDistance(options ...Option) *PairwiseDistance {
	return build(new(PairwiseDistance), nil, options)
}

// Forward calls the layer.
func (m *PairwiseDistance) Forward(x1 *torch.Tensor, x2 *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, x1, x2))
}

// PixelShuffle is torch.nn.PixelShuffle(upscale_factor). Its forward is F.pixel_shuffle(input, self.upscale_factor).
type PixelShuffle struct {
	leaf
}

// NewPixelShuffle returns a new [PixelShuffle]; the arguments that have a default there are options.
func NewPixelShuffle(upscaleFactor int, options ...Option) *PixelShuffle {
	return build(new(PixelShuffle), []any{upscaleFactor}, options)
}

// Forward calls the layer.
func (m *PixelShuffle) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// PixelUnshuffle is torch.nn.PixelUnshuffle(downscale_factor). Its forward is F.pixel_unshuffle(input, self.downscale_factor).
type PixelUnshuffle struct {
	leaf
}

// NewPixelUnshuffle returns a new [PixelUnshuffle]; the arguments that have a default there are options.
func NewPixelUnshuffle(downscaleFactor int, options ...Option) *PixelUnshuffle {
	return build(new(PixelUnshuffle), []any{downscaleFactor}, options)
}

// Forward calls the layer.
func (m *PixelUnshuffle) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// PoissonNLLLoss is torch.nn.PoissonNLLLoss(log_input=True, full=False, eps=1e-08, reduction='mean'). Its forward is F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction).
type PoissonNLLLoss struct {
	leaf
}

// NewPoissonNLLLoss returns a new [PoissonNLLLoss]; the arguments that have a default there are options.
func NewPoissonNLLLoss(options ...Option) *PoissonNLLLoss {
	return build(new(PoissonNLLLoss), nil, options)
}

// Forward calls the layer.
func (m *PoissonNLLLoss) Forward(logInput *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, logInput, target))
}

// RMSNorm is torch.nn.RMSNorm(normalized_shape, eps=None, elementwise_affine=True). Its forward is F.rms_norm(x, self.normalized_shape, self.weight, self.eps).
type RMSNorm struct {
	leaf
	Weight *torch.Tensor
}

// NewRMSNorm returns a new [RMSNorm]; the arguments that have a default there are options.
func NewRMSNorm(normalizedShape any, options ...Option) *RMSNorm {
	return build(new(RMSNorm), []any{normalizedShape}, options)
}

// Forward calls the layer.
func (m *RMSNorm) Forward(x *torch.Tensor) *torch.Tensor { return one(run(m, nil, x)) }

// RReLU is torch.nn.RReLU(lower=0.125, upper=0.3333333333333333, inplace=False). Its forward is F.rrelu(input, self.lower, self.upper, self.training, self.inplace).
type RReLU struct {
	leaf
}

// NewRReLU returns a new [RReLU]; the arguments that have a default there are options.
func NewRReLU(options ...Option) *RReLU { return build(new(RReLU), nil, options) }

// Forward calls the layer.
func (m *RReLU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ReLU is torch.nn.ReLU(inplace=False). Its forward is F.relu(input, inplace=self.inplace).
type ReLU struct {
	leaf
}

// NewReLU returns a new [ReLU]; the arguments that have a default there are options.
func NewReLU(options ...Option) *ReLU { return build(new(ReLU), nil, options) }

// Forward calls the layer.
func (m *ReLU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ReLU6 is torch.nn.ReLU6(inplace=False). Its forward is F.hardtanh(input, self.min_val, self.max_val, self.inplace).
type ReLU6 struct {
	leaf
}

// NewReLU6 returns a new [ReLU6]; the arguments that have a default there are options.
func NewReLU6(options ...Option) *ReLU6 { return build(new(ReLU6), nil, options) }

// Forward calls the layer.
func (m *ReLU6) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ReflectionPad1d is torch.nn.ReflectionPad1d(padding). Its forward is F.pad(input, self.padding, 'reflect').
type ReflectionPad1d struct {
	leaf
}

// NewReflectionPad1d returns a new [ReflectionPad1d]; the arguments that have a default there are options.
func NewReflectionPad1d(padding any, options ...Option) *ReflectionPad1d {
	return build(new(ReflectionPad1d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ReflectionPad1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ReflectionPad2d is torch.nn.ReflectionPad2d(padding). Its forward is F.pad(input, self.padding, 'reflect').
type ReflectionPad2d struct {
	leaf
}

// NewReflectionPad2d returns a new [ReflectionPad2d]; the arguments that have a default there are options.
func NewReflectionPad2d(padding any, options ...Option) *ReflectionPad2d {
	return build(new(ReflectionPad2d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ReflectionPad2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ReflectionPad3d is torch.nn.ReflectionPad3d(padding). Its forward is F.pad(input, self.padding, 'reflect').
type ReflectionPad3d struct {
	leaf
}

// NewReflectionPad3d returns a new [ReflectionPad3d]; the arguments that have a default there are options.
func NewReflectionPad3d(padding any, options ...Option) *ReflectionPad3d {
	return build(new(ReflectionPad3d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ReflectionPad3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ReplicationPad1d is torch.nn.ReplicationPad1d(padding). Its forward is F.pad(input, self.padding, 'replicate').
type ReplicationPad1d struct {
	leaf
}

// NewReplicationPad1d returns a new [ReplicationPad1d]; the arguments that have a default there are options.
func NewReplicationPad1d(padding any, options ...Option) *ReplicationPad1d {
	return build(new(ReplicationPad1d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ReplicationPad1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ReplicationPad2d is torch.nn.ReplicationPad2d(padding). Its forward is F.pad(input, self.padding, 'replicate').
type ReplicationPad2d struct {
	leaf
}

// NewReplicationPad2d returns a new [ReplicationPad2d]; the arguments that have a default there are options.
func NewReplicationPad2d(padding any, options ...Option) *ReplicationPad2d {
	return build(new(ReplicationPad2d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ReplicationPad2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ReplicationPad3d is torch.nn.ReplicationPad3d(padding). Its forward is F.pad(input, self.padding, 'replicate').
type ReplicationPad3d struct {
	leaf
}

// NewReplicationPad3d returns a new [ReplicationPad3d]; the arguments that have a default there are options.
func NewReplicationPad3d(padding any, options ...Option) *ReplicationPad3d {
	return build(new(ReplicationPad3d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ReplicationPad3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// SELU is torch.nn.SELU(inplace=False). Its forward is F.selu(input, self.inplace).
type SELU struct {
	leaf
}

// NewSELU returns a new [SELU]; the arguments that have a default there are options.
func NewSELU(options ...Option) *SELU { return build(new(SELU), nil, options) }

// Forward calls the layer.
func (m *SELU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// SiLU is torch.nn.SiLU(inplace=False). Its forward is F.silu(input, inplace=self.inplace).
type SiLU struct {
	leaf
}

// NewSiLU returns a new [SiLU]; the arguments that have a default there are options.
func NewSiLU(options ...Option) *SiLU { return build(new(SiLU), nil, options) }

// Forward calls the layer.
func (m *SiLU) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Sigmoid is torch.nn.Sigmoid(). Its forward is torch.sigmoid(input).
type Sigmoid struct {
	leaf
}

// NewSigmoid returns a new [Sigmoid]; the arguments that have a default there are options.
func NewSigmoid(options ...Option) *Sigmoid { return build(new(Sigmoid), nil, options) }

// Forward calls the layer.
func (m *Sigmoid) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// SmoothL1Loss is torch.nn.SmoothL1Loss(reduction='mean', beta=1.0). Its forward is F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta).
type SmoothL1Loss struct {
	leaf
}

// NewSmoothL1Loss returns a new [SmoothL1Loss]; the arguments that have a default there are options.
func NewSmoothL1Loss(options ...Option) *SmoothL1Loss { return build(new(SmoothL1Loss), nil, options) }

// Forward calls the layer.
func (m *SmoothL1Loss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// SoftMarginLoss is torch.nn.SoftMarginLoss(reduction='mean'). Its forward is F.soft_margin_loss(input, target, reduction=self.reduction).
type SoftMarginLoss struct {
	leaf
}

// NewSoftMarginLoss returns a new [SoftMarginLoss]; the arguments that have a default there are options.
func NewSoftMarginLoss(options ...Option) *SoftMarginLoss {
	return build(new(SoftMarginLoss), nil, options)
}

// Forward calls the layer.
func (m *SoftMarginLoss) Forward(input *torch.Tensor, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

// Softmax is torch.nn.Softmax(dim=None). Its forward is F.softmax(input, self.dim, _stacklevel=5).
type Softmax struct {
	leaf
}

// NewSoftmax returns a new [Softmax]; the arguments that have a default there are options.
func NewSoftmax(options ...Option) *Softmax { return build(new(Softmax), nil, options) }

// Forward calls the layer.
func (m *Softmax) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Softmax2d is torch.nn.Softmax2d().
type Softmax2d struct {
	leaf
}

// NewSoftmax2d returns a new [Softmax2d]; the arguments that have a default there are options.
func NewSoftmax2d(options ...Option) *Softmax2d { return build(new(Softmax2d), nil, options) }

// Forward calls the layer.
func (m *Softmax2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Softmin is torch.nn.Softmin(dim=None). Its forward is F.softmin(input, self.dim, _stacklevel=5).
type Softmin struct {
	leaf
}

// NewSoftmin returns a new [Softmin]; the arguments that have a default there are options.
func NewSoftmin(options ...Option) *Softmin { return build(new(Softmin), nil, options) }

// Forward calls the layer.
func (m *Softmin) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Softplus is torch.nn.Softplus(beta=1.0, threshold=20.0). Its forward is F.softplus(input, self.beta, self.threshold).
type Softplus struct {
	leaf
}

// NewSoftplus returns a new [Softplus]; the arguments that have a default there are options.
func NewSoftplus(options ...Option) *Softplus { return build(new(Softplus), nil, options) }

// Forward calls the layer.
func (m *Softplus) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Softshrink is torch.nn.Softshrink(lambd=0.5). Its forward is F.softshrink(input, self.lambd).
type Softshrink struct {
	leaf
}

// NewSoftshrink returns a new [Softshrink]; the arguments that have a default there are options.
func NewSoftshrink(options ...Option) *Softshrink { return build(new(Softshrink), nil, options) }

// Forward calls the layer.
func (m *Softshrink) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Softsign is torch.nn.Softsign(). Its forward is F.softsign(input).
type Softsign struct {
	leaf
}

// NewSoftsign returns a new [Softsign]; the arguments that have a default there are options.
func NewSoftsign(options ...Option) *Softsign { return build(new(Softsign), nil, options) }

// Forward calls the layer.
func (m *Softsign) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Tanh is torch.nn.Tanh(). Its forward is torch.tanh(input).
type Tanh struct {
	leaf
}

// NewTanh returns a new [Tanh]; the arguments that have a default there are options.
func NewTanh(options ...Option) *Tanh { return build(new(Tanh), nil, options) }

// Forward calls the layer.
func (m *Tanh) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Tanhshrink is torch.nn.Tanhshrink(). Its forward is F.tanhshrink(input).
type Tanhshrink struct {
	leaf
}

// NewTanhshrink returns a new [Tanhshrink]; the arguments that have a default there are options.
func NewTanhshrink(options ...Option) *Tanhshrink { return build(new(Tanhshrink), nil, options) }

// Forward calls the layer.
func (m *Tanhshrink) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Threshold is torch.nn.Threshold(threshold, value, inplace=False). Its forward is F.threshold(input, self.threshold, self.value, self.inplace).
type Threshold struct {
	leaf
}

// NewThreshold returns a new [Threshold]; the arguments that have a default there are options.
func NewThreshold(threshold float64, value float64, options ...Option) *Threshold {
	return build(new(Threshold), []any{threshold, value}, options)
}

// Forward calls the layer.
func (m *Threshold) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// TripletMarginLoss is torch.nn.TripletMarginLoss(margin=1.0, p=2.0, eps=1e-06, swap=False, reduction='mean'). Its forward is F.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap, reduction=self.reduction).
type TripletMarginLoss struct {
	leaf
}

// NewTripletMarginLoss returns a new [TripletMarginLoss]; the arguments that have a default there are options.
func NewTripletMarginLoss(options ...Option) *TripletMarginLoss {
	return build(new(TripletMarginLoss), nil, options)
}

// Forward calls the layer.
func (m *TripletMarginLoss) Forward(anchor *torch.Tensor, positive *torch.Tensor, negative *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, anchor, positive, negative))
}

// Unflatten is torch.nn.Unflatten(dim, unflattened_size). Its forward is input.unflatten(self.dim, self.unflattened_size).
type Unflatten struct {
	leaf
}

// NewUnflatten returns a new [Unflatten]; the arguments that have a default there are options.
func NewUnflatten(dim int, unflattenedSize any, options ...Option) *Unflatten {
	return build(new(Unflatten), []any{dim, unflattenedSize}, options)
}

// Forward calls the layer.
func (m *Unflatten) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Unfold is torch.nn.Unfold(kernel_size, dilation=1, padding=0, stride=1). Its forward is F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride).
type Unfold struct {
	leaf
}

// NewUnfold returns a new [Unfold]; the arguments that have a default there are options.
func NewUnfold(kernelSize any, options ...Option) *Unfold {
	return build(new(Unfold), []any{kernelSize}, options)
}

// Forward calls the layer.
func (m *Unfold) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// Upsample is torch.nn.Upsample(size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None). Its forward is F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, recompute_scale_factor=self.recompute_scale_factor).
type Upsample struct {
	leaf
}

// NewUpsample returns a new [Upsample]; the arguments that have a default there are options.
func NewUpsample(options ...Option) *Upsample { return build(new(Upsample), nil, options) }

// Forward calls the layer.
func (m *Upsample) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// UpsamplingBilinear2d is torch.nn.UpsamplingBilinear2d(size=None, scale_factor=None). Its forward is F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, recompute_scale_factor=self.recompute_scale_factor).
type UpsamplingBilinear2d struct {
	leaf
}

// NewUpsamplingBilinear2d returns a new [UpsamplingBilinear2d]; the arguments that have a default there are options.
func NewUpsamplingBilinear2d(options ...Option) *UpsamplingBilinear2d {
	return build(new(UpsamplingBilinear2d), nil, options)
}

// Forward calls the layer.
func (m *UpsamplingBilinear2d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// UpsamplingNearest2d is torch.nn.UpsamplingNearest2d(size=None, scale_factor=None). Its forward is F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, recompute_scale_factor=self.recompute_scale_factor).
type UpsamplingNearest2d struct {
	leaf
}

// NewUpsamplingNearest2d returns a new [UpsamplingNearest2d]; the arguments that have a default there are options.
func NewUpsamplingNearest2d(options ...Option) *UpsamplingNearest2d {
	return build(new(UpsamplingNearest2d), nil, options)
}

// Forward calls the layer.
func (m *UpsamplingNearest2d) Forward(input *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input))
}

// ZeroPad1d is torch.nn.ZeroPad1d(padding). Its forward is F.pad(input, self.padding, 'constant', self.value).
type ZeroPad1d struct {
	leaf
}

// NewZeroPad1d returns a new [ZeroPad1d]; the arguments that have a default there are options.
func NewZeroPad1d(padding any, options ...Option) *ZeroPad1d {
	return build(new(ZeroPad1d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ZeroPad1d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ZeroPad2d is torch.nn.ZeroPad2d(padding). Its forward is F.pad(input, self.padding, 'constant', self.value).
type ZeroPad2d struct {
	leaf
}

// NewZeroPad2d returns a new [ZeroPad2d]; the arguments that have a default there are options.
func NewZeroPad2d(padding any, options ...Option) *ZeroPad2d {
	return build(new(ZeroPad2d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ZeroPad2d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// ZeroPad3d is torch.nn.ZeroPad3d(padding). Its forward is F.pad(input, self.padding, 'constant', self.value).
type ZeroPad3d struct {
	leaf
}

// NewZeroPad3d returns a new [ZeroPad3d]; the arguments that have a default there are options.
func NewZeroPad3d(padding any, options ...Option) *ZeroPad3d {
	return build(new(ZeroPad3d), []any{padding}, options)
}

// Forward calls the layer.
func (m *ZeroPad3d) Forward(input *torch.Tensor) *torch.Tensor { return one(run(m, nil, input)) }

// types makes an empty layer of each class.
var types = map[string]func() Module{
	"AdaptiveAvgPool1d":               func() Module { return new(AdaptiveAvgPool1d) },
	"AdaptiveAvgPool2d":               func() Module { return new(AdaptiveAvgPool2d) },
	"AdaptiveAvgPool3d":               func() Module { return new(AdaptiveAvgPool3d) },
	"AdaptiveMaxPool1d":               func() Module { return new(AdaptiveMaxPool1d) },
	"AdaptiveMaxPool2d":               func() Module { return new(AdaptiveMaxPool2d) },
	"AdaptiveMaxPool3d":               func() Module { return new(AdaptiveMaxPool3d) },
	"AlphaDropout":                    func() Module { return new(AlphaDropout) },
	"AvgPool1d":                       func() Module { return new(AvgPool1d) },
	"AvgPool2d":                       func() Module { return new(AvgPool2d) },
	"AvgPool3d":                       func() Module { return new(AvgPool3d) },
	"BCELoss":                         func() Module { return new(BCELoss) },
	"BCEWithLogitsLoss":               func() Module { return new(BCEWithLogitsLoss) },
	"BatchNorm1d":                     func() Module { return new(BatchNorm1d) },
	"BatchNorm2d":                     func() Module { return new(BatchNorm2d) },
	"BatchNorm3d":                     func() Module { return new(BatchNorm3d) },
	"Bilinear":                        func() Module { return new(Bilinear) },
	"CELU":                            func() Module { return new(CELU) },
	"CTCLoss":                         func() Module { return new(CTCLoss) },
	"ChannelShuffle":                  func() Module { return new(ChannelShuffle) },
	"CircularPad1d":                   func() Module { return new(CircularPad1d) },
	"CircularPad2d":                   func() Module { return new(CircularPad2d) },
	"CircularPad3d":                   func() Module { return new(CircularPad3d) },
	"ConstantPad1d":                   func() Module { return new(ConstantPad1d) },
	"ConstantPad2d":                   func() Module { return new(ConstantPad2d) },
	"ConstantPad3d":                   func() Module { return new(ConstantPad3d) },
	"Conv1d":                          func() Module { return new(Conv1d) },
	"Conv2d":                          func() Module { return new(Conv2d) },
	"Conv3d":                          func() Module { return new(Conv3d) },
	"ConvTranspose1d":                 func() Module { return new(ConvTranspose1d) },
	"ConvTranspose2d":                 func() Module { return new(ConvTranspose2d) },
	"ConvTranspose3d":                 func() Module { return new(ConvTranspose3d) },
	"CosineEmbeddingLoss":             func() Module { return new(CosineEmbeddingLoss) },
	"CosineSimilarity":                func() Module { return new(CosineSimilarity) },
	"CrossEntropyLoss":                func() Module { return new(CrossEntropyLoss) },
	"Dropout":                         func() Module { return new(Dropout) },
	"Dropout1d":                       func() Module { return new(Dropout1d) },
	"Dropout2d":                       func() Module { return new(Dropout2d) },
	"Dropout3d":                       func() Module { return new(Dropout3d) },
	"ELU":                             func() Module { return new(ELU) },
	"Embedding":                       func() Module { return new(Embedding) },
	"EmbeddingBag":                    func() Module { return new(EmbeddingBag) },
	"FeatureAlphaDropout":             func() Module { return new(FeatureAlphaDropout) },
	"Flatten":                         func() Module { return new(Flatten) },
	"Fold":                            func() Module { return new(Fold) },
	"FractionalMaxPool2d":             func() Module { return new(FractionalMaxPool2d) },
	"FractionalMaxPool3d":             func() Module { return new(FractionalMaxPool3d) },
	"GELU":                            func() Module { return new(GELU) },
	"GLU":                             func() Module { return new(GLU) },
	"GRU":                             func() Module { return new(GRU) },
	"GRUCell":                         func() Module { return new(GRUCell) },
	"GaussianNLLLoss":                 func() Module { return new(GaussianNLLLoss) },
	"GroupNorm":                       func() Module { return new(GroupNorm) },
	"Hardshrink":                      func() Module { return new(Hardshrink) },
	"Hardsigmoid":                     func() Module { return new(Hardsigmoid) },
	"Hardswish":                       func() Module { return new(Hardswish) },
	"Hardtanh":                        func() Module { return new(Hardtanh) },
	"HingeEmbeddingLoss":              func() Module { return new(HingeEmbeddingLoss) },
	"HuberLoss":                       func() Module { return new(HuberLoss) },
	"Identity":                        func() Module { return new(Identity) },
	"InstanceNorm1d":                  func() Module { return new(InstanceNorm1d) },
	"InstanceNorm2d":                  func() Module { return new(InstanceNorm2d) },
	"InstanceNorm3d":                  func() Module { return new(InstanceNorm3d) },
	"KLDivLoss":                       func() Module { return new(KLDivLoss) },
	"NonDynamicallyQuantizableLinear": func() Module { return new(NonDynamicallyQuantizableLinear) },
	"L1Loss":                          func() Module { return new(L1Loss) },
	"LPPool1d":                        func() Module { return new(LPPool1d) },
	"LPPool2d":                        func() Module { return new(LPPool2d) },
	"LPPool3d":                        func() Module { return new(LPPool3d) },
	"LSTM":                            func() Module { return new(LSTM) },
	"LSTMCell":                        func() Module { return new(LSTMCell) },
	"LayerNorm":                       func() Module { return new(LayerNorm) },
	"LeakyReLU":                       func() Module { return new(LeakyReLU) },
	"Linear":                          func() Module { return new(Linear) },
	"LocalResponseNorm":               func() Module { return new(LocalResponseNorm) },
	"LogSigmoid":                      func() Module { return new(LogSigmoid) },
	"LogSoftmax":                      func() Module { return new(LogSoftmax) },
	"MSELoss":                         func() Module { return new(MSELoss) },
	"MarginRankingLoss":               func() Module { return new(MarginRankingLoss) },
	"MaxPool1d":                       func() Module { return new(MaxPool1d) },
	"MaxPool2d":                       func() Module { return new(MaxPool2d) },
	"MaxPool3d":                       func() Module { return new(MaxPool3d) },
	"MaxUnpool1d":                     func() Module { return new(MaxUnpool1d) },
	"MaxUnpool2d":                     func() Module { return new(MaxUnpool2d) },
	"MaxUnpool3d":                     func() Module { return new(MaxUnpool3d) },
	"Mish":                            func() Module { return new(Mish) },
	"MultiLabelMarginLoss":            func() Module { return new(MultiLabelMarginLoss) },
	"MultiLabelSoftMarginLoss":        func() Module { return new(MultiLabelSoftMarginLoss) },
	"MultiMarginLoss":                 func() Module { return new(MultiMarginLoss) },
	"MultiheadAttention":              func() Module { return new(MultiheadAttention) },
	"NLLLoss":                         func() Module { return new(NLLLoss) },
	"PReLU":                           func() Module { return new(PReLU) },
	"PairwiseDistance":                func() Module { return new(PairwiseDistance) },
	"PixelShuffle":                    func() Module { return new(PixelShuffle) },
	"PixelUnshuffle":                  func() Module { return new(PixelUnshuffle) },
	"PoissonNLLLoss":                  func() Module { return new(PoissonNLLLoss) },
	"RMSNorm":                         func() Module { return new(RMSNorm) },
	"RNN":                             func() Module { return new(RNN) },
	"RNNCell":                         func() Module { return new(RNNCell) },
	"RReLU":                           func() Module { return new(RReLU) },
	"ReLU":                            func() Module { return new(ReLU) },
	"ReLU6":                           func() Module { return new(ReLU6) },
	"ReflectionPad1d":                 func() Module { return new(ReflectionPad1d) },
	"ReflectionPad2d":                 func() Module { return new(ReflectionPad2d) },
	"ReflectionPad3d":                 func() Module { return new(ReflectionPad3d) },
	"ReplicationPad1d":                func() Module { return new(ReplicationPad1d) },
	"ReplicationPad2d":                func() Module { return new(ReplicationPad2d) },
	"ReplicationPad3d":                func() Module { return new(ReplicationPad3d) },
	"SELU":                            func() Module { return new(SELU) },
	"SiLU":                            func() Module { return new(SiLU) },
	"Sigmoid":                         func() Module { return new(Sigmoid) },
	"SmoothL1Loss":                    func() Module { return new(SmoothL1Loss) },
	"SoftMarginLoss":                  func() Module { return new(SoftMarginLoss) },
	"Softmax":                         func() Module { return new(Softmax) },
	"Softmax2d":                       func() Module { return new(Softmax2d) },
	"Softmin":                         func() Module { return new(Softmin) },
	"Softplus":                        func() Module { return new(Softplus) },
	"Softshrink":                      func() Module { return new(Softshrink) },
	"Softsign":                        func() Module { return new(Softsign) },
	"Tanh":                            func() Module { return new(Tanh) },
	"Tanhshrink":                      func() Module { return new(Tanhshrink) },
	"Threshold":                       func() Module { return new(Threshold) },
	"Transformer":                     func() Module { return new(Transformer) },
	"TransformerDecoder":              func() Module { return new(TransformerDecoder) },
	"TransformerDecoderLayer":         func() Module { return new(TransformerDecoderLayer) },
	"TransformerEncoder":              func() Module { return new(TransformerEncoder) },
	"TransformerEncoderLayer":         func() Module { return new(TransformerEncoderLayer) },
	"TripletMarginLoss":               func() Module { return new(TripletMarginLoss) },
	"TripletMarginWithDistanceLoss":   func() Module { return new(TripletMarginWithDistanceLoss) },
	"Unflatten":                       func() Module { return new(Unflatten) },
	"Unfold":                          func() Module { return new(Unfold) },
	"Upsample":                        func() Module { return new(Upsample) },
	"UpsamplingBilinear2d":            func() Module { return new(UpsamplingBilinear2d) },
	"UpsamplingNearest2d":             func() Module { return new(UpsamplingNearest2d) },
	"ZeroPad1d":                       func() Module { return new(ZeroPad1d) },
	"ZeroPad2d":                       func() Module { return new(ZeroPad2d) },
	"ZeroPad3d":                       func() Module { return new(ZeroPad3d) },
	"AdaptiveLogSoftmaxWithLoss":      func() Module { return new(AdaptiveLogSoftmaxWithLoss) },
	"LinearCrossEntropyLoss":          func() Module { return new(LinearCrossEntropyLoss) },
}
