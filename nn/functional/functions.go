// Code generated from torchops/composed.txt and builtins.go by go test ./nn/functional -run Generated -update. DO NOT EDIT.

package functional

import torch "github.com/torchfx-go/torchfx/torchops"

// AdaptiveAvgPool1d is torch.nn.functional.adaptive_avg_pool1d; the options are its keyword arguments.
func AdaptiveAvgPool1d(input *torch.Tensor, outputSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("adaptive_avg_pool1d", []any{input, outputSize}, options))
}

// AdaptiveAvgPool2d is torch.nn.functional.adaptive_avg_pool2d; it has no options.
func AdaptiveAvgPool2d(input *torch.Tensor, outputSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("adaptive_avg_pool2d", []any{input, outputSize}, options))
}

// AdaptiveAvgPool3d is torch.nn.functional.adaptive_avg_pool3d; it has no options.
func AdaptiveAvgPool3d(input *torch.Tensor, outputSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("adaptive_avg_pool3d", []any{input, outputSize}, options))
}

// AdaptiveMaxPool1d is torch.nn.functional.adaptive_max_pool1d; the options are return_indices.
func AdaptiveMaxPool1d(input *torch.Tensor, outputSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("adaptive_max_pool1d", []any{input, outputSize}, options))
}

// AdaptiveMaxPool1dWithIndices is torch.nn.functional.adaptive_max_pool1d_with_indices; the options are return_indices.
func AdaptiveMaxPool1dWithIndices(input *torch.Tensor, outputSize any, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("adaptive_max_pool1d_with_indices", []any{input, outputSize}, options))
}

// AdaptiveMaxPool2d is torch.nn.functional.adaptive_max_pool2d; the options are return_indices.
func AdaptiveMaxPool2d(input *torch.Tensor, outputSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("adaptive_max_pool2d", []any{input, outputSize}, options))
}

// AdaptiveMaxPool2dWithIndices is torch.nn.functional.adaptive_max_pool2d_with_indices; the options are return_indices.
func AdaptiveMaxPool2dWithIndices(input *torch.Tensor, outputSize any, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("adaptive_max_pool2d_with_indices", []any{input, outputSize}, options))
}

// AdaptiveMaxPool3d is torch.nn.functional.adaptive_max_pool3d; the options are return_indices.
func AdaptiveMaxPool3d(input *torch.Tensor, outputSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("adaptive_max_pool3d", []any{input, outputSize}, options))
}

// AdaptiveMaxPool3dWithIndices is torch.nn.functional.adaptive_max_pool3d_with_indices; the options are return_indices.
func AdaptiveMaxPool3dWithIndices(input *torch.Tensor, outputSize any, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("adaptive_max_pool3d_with_indices", []any{input, outputSize}, options))
}

// AffineGrid is torch.nn.functional.affine_grid; the options are align_corners.
func AffineGrid(theta *torch.Tensor, size any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("affine_grid", []any{theta, size}, options))
}

// AlphaDropout is torch.nn.functional.alpha_dropout; the options are p, training, inplace.
func AlphaDropout(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("alpha_dropout", []any{input}, options))
}

// AvgPool1d is torch.nn.functional.avg_pool1d; the options are its keyword arguments.
func AvgPool1d(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("avg_pool1d", []any{input, kernelSize}, options))
}

// AvgPool2d is torch.nn.functional.avg_pool2d; the options are its keyword arguments.
func AvgPool2d(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("avg_pool2d", []any{input, kernelSize}, options))
}

// AvgPool3d is torch.nn.functional.avg_pool3d; the options are its keyword arguments.
func AvgPool3d(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("avg_pool3d", []any{input, kernelSize}, options))
}

// BatchNorm is torch.nn.functional.batch_norm; the options are weight, bias, training, momentum, eps.
func BatchNorm(input *torch.Tensor, runningMean *torch.Tensor, runningVar *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("batch_norm", []any{input, runningMean, runningVar}, options))
}

// Bilinear is torch.nn.functional.bilinear; the options are its keyword arguments.
func Bilinear(input1 *torch.Tensor, input2 *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("bilinear", []any{input1, input2, weight}, options))
}

// BinaryCrossEntropy is torch.nn.functional.binary_cross_entropy; the options are weight, size_average, reduce, reduction.
func BinaryCrossEntropy(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("binary_cross_entropy", []any{input, target}, options))
}

// BinaryCrossEntropyWithLogits is torch.nn.functional.binary_cross_entropy_with_logits; the options are weight, size_average, reduce, reduction, pos_weight.
func BinaryCrossEntropyWithLogits(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("binary_cross_entropy_with_logits", []any{input, target}, options))
}

// Celu is torch.nn.functional.celu; the options are alpha, inplace.
func Celu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("celu", []any{input}, options))
}

// CeluInPlace is torch.nn.functional.celu_; the options are its keyword arguments.
func CeluInPlace(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("celu_", []any{input}, options))
}

// ChannelShuffle is torch.nn.functional.channel_shuffle; the options are its keyword arguments.
func ChannelShuffle(input *torch.Tensor, groups any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("channel_shuffle", []any{input, groups}, options))
}

// Conv1d is torch.nn.functional.conv1d; the options are its keyword arguments.
func Conv1d(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("conv1d", []any{input, weight}, options))
}

// Conv2d is torch.nn.functional.conv2d; the options are its keyword arguments.
func Conv2d(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("conv2d", []any{input, weight}, options))
}

// Conv3d is torch.nn.functional.conv3d; the options are its keyword arguments.
func Conv3d(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("conv3d", []any{input, weight}, options))
}

// ConvTbc is torch.nn.functional.conv_tbc; the options are its keyword arguments.
func ConvTbc(input *torch.Tensor, weight *torch.Tensor, bias *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("conv_tbc", []any{input, weight, bias}, options))
}

// ConvTranspose1d is torch.nn.functional.conv_transpose1d; the options are its keyword arguments.
func ConvTranspose1d(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("conv_transpose1d", []any{input, weight}, options))
}

// ConvTranspose2d is torch.nn.functional.conv_transpose2d; the options are its keyword arguments.
func ConvTranspose2d(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("conv_transpose2d", []any{input, weight}, options))
}

// ConvTranspose3d is torch.nn.functional.conv_transpose3d; the options are its keyword arguments.
func ConvTranspose3d(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("conv_transpose3d", []any{input, weight}, options))
}

// CosineEmbeddingLoss is torch.nn.functional.cosine_embedding_loss; the options are margin, size_average, reduce, reduction.
func CosineEmbeddingLoss(input1 *torch.Tensor, input2 *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("cosine_embedding_loss", []any{input1, input2, target}, options))
}

// CosineSimilarity is torch.nn.functional.cosine_similarity; the options are its keyword arguments.
func CosineSimilarity(x1 *torch.Tensor, x2 *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("cosine_similarity", []any{x1, x2}, options))
}

// CrossEntropy is torch.nn.functional.cross_entropy; the options are weight, size_average, ignore_index, reduce, reduction, label_smoothing.
func CrossEntropy(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("cross_entropy", []any{input, target}, options))
}

// CtcLoss is torch.nn.functional.ctc_loss; the options are blank, reduction, zero_infinity.
func CtcLoss(logProbs *torch.Tensor, targets *torch.Tensor, inputLengths *torch.Tensor, targetLengths *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("ctc_loss", []any{logProbs, targets, inputLengths, targetLengths}, options))
}

// Dropout is torch.nn.functional.dropout; the options are p, training, inplace.
func Dropout(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("dropout", []any{input}, options))
}

// Dropout1d is torch.nn.functional.dropout1d; the options are p, training, inplace.
func Dropout1d(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("dropout1d", []any{input}, options))
}

// Dropout2d is torch.nn.functional.dropout2d; the options are p, training, inplace.
func Dropout2d(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("dropout2d", []any{input}, options))
}

// Dropout3d is torch.nn.functional.dropout3d; the options are p, training, inplace.
func Dropout3d(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("dropout3d", []any{input}, options))
}

// Elu is torch.nn.functional.elu; the options are alpha, inplace.
func Elu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("elu", []any{input}, options))
}

// EluInPlace is torch.nn.functional.elu_; the options are its keyword arguments.
func EluInPlace(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("elu_", []any{input}, options))
}

// Embedding is torch.nn.functional.embedding; the options are padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse.
func Embedding(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("embedding", []any{input, weight}, options))
}

// EmbeddingBag is torch.nn.functional.embedding_bag; the options are offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx.
func EmbeddingBag(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("embedding_bag", []any{input, weight}, options))
}

// FeatureAlphaDropout is torch.nn.functional.feature_alpha_dropout; the options are p, training, inplace.
func FeatureAlphaDropout(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("feature_alpha_dropout", []any{input}, options))
}

// Fold is torch.nn.functional.fold; the options are dilation, padding, stride.
func Fold(input *torch.Tensor, outputSize any, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("fold", []any{input, outputSize, kernelSize}, options))
}

// FractionalMaxPool2d is torch.nn.functional.fractional_max_pool2d; the options are output_size, output_ratio, return_indices, _random_samples.
func FractionalMaxPool2d(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("fractional_max_pool2d", []any{input, kernelSize}, options))
}

// FractionalMaxPool2dWithIndices is torch.nn.functional.fractional_max_pool2d_with_indices; the options are output_size, output_ratio, return_indices, _random_samples.
func FractionalMaxPool2dWithIndices(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("fractional_max_pool2d_with_indices", []any{input, kernelSize}, options))
}

// FractionalMaxPool3d is torch.nn.functional.fractional_max_pool3d; the options are output_size, output_ratio, return_indices, _random_samples.
func FractionalMaxPool3d(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("fractional_max_pool3d", []any{input, kernelSize}, options))
}

// FractionalMaxPool3dWithIndices is torch.nn.functional.fractional_max_pool3d_with_indices; the options are output_size, output_ratio, return_indices, _random_samples.
func FractionalMaxPool3dWithIndices(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("fractional_max_pool3d_with_indices", []any{input, kernelSize}, options))
}

// GaussianNllLoss is torch.nn.functional.gaussian_nll_loss; the options are full, eps, reduction.
func GaussianNllLoss(input *torch.Tensor, target *torch.Tensor, variance any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("gaussian_nll_loss", []any{input, target, variance}, options))
}

// Gelu is torch.nn.functional.gelu; the options are its keyword arguments.
func Gelu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("gelu", []any{input}, options))
}

// Glu is torch.nn.functional.glu; the options are dim.
func Glu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("glu", []any{input}, options))
}

// GridSample is torch.nn.functional.grid_sample; the options are mode, padding_mode, align_corners.
func GridSample(input *torch.Tensor, grid *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("grid_sample", []any{input, grid}, options))
}

// GroupNorm is torch.nn.functional.group_norm; the options are weight, bias, eps.
func GroupNorm(input *torch.Tensor, numGroups any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("group_norm", []any{input, numGroups}, options))
}

// GroupedMm is torch.nn.functional.grouped_mm; the options are offs, bias, out_dtype.
func GroupedMm(matA *torch.Tensor, matB *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("grouped_mm", []any{matA, matB}, options))
}

// GumbelSoftmax is torch.nn.functional.gumbel_softmax; the options are tau, hard, eps, dim.
func GumbelSoftmax(logits *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("gumbel_softmax", []any{logits}, options))
}

// Hardshrink is torch.nn.functional.hardshrink; the options are its keyword arguments.
func Hardshrink(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("hardshrink", []any{input}, options))
}

// Hardsigmoid is torch.nn.functional.hardsigmoid; the options are inplace.
func Hardsigmoid(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("hardsigmoid", []any{input}, options))
}

// Hardswish is torch.nn.functional.hardswish; the options are inplace.
func Hardswish(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("hardswish", []any{input}, options))
}

// Hardtanh is torch.nn.functional.hardtanh; the options are min_val, max_val, inplace.
func Hardtanh(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("hardtanh", []any{input}, options))
}

// HardtanhInPlace is torch.nn.functional.hardtanh_; the options are its keyword arguments.
func HardtanhInPlace(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("hardtanh_", []any{input}, options))
}

// HingeEmbeddingLoss is torch.nn.functional.hinge_embedding_loss; the options are margin, size_average, reduce, reduction.
func HingeEmbeddingLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("hinge_embedding_loss", []any{input, target}, options))
}

// HuberLoss is torch.nn.functional.huber_loss; the options are reduction, delta, weight.
func HuberLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("huber_loss", []any{input, target}, options))
}

// InstanceNorm is torch.nn.functional.instance_norm; the options are running_mean, running_var, weight, bias, use_input_stats, momentum, eps.
func InstanceNorm(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("instance_norm", []any{input}, options))
}

// Interpolate is torch.nn.functional.interpolate; the options are size, scale_factor, mode, align_corners, recompute_scale_factor, antialias.
func Interpolate(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("interpolate", []any{input}, options))
}

// KlDiv is torch.nn.functional.kl_div; the options are size_average, reduce, reduction, log_target.
func KlDiv(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("kl_div", []any{input, target}, options))
}

// L1Loss is torch.nn.functional.l1_loss; the options are size_average, reduce, reduction, weight.
func L1Loss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("l1_loss", []any{input, target}, options))
}

// LayerNorm is torch.nn.functional.layer_norm; the options are weight, bias, eps.
func LayerNorm(input *torch.Tensor, normalizedShape any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("layer_norm", []any{input, normalizedShape}, options))
}

// LeakyRelu is torch.nn.functional.leaky_relu; the options are negative_slope, inplace.
func LeakyRelu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("leaky_relu", []any{input}, options))
}

// LeakyReluInPlace is torch.nn.functional.leaky_relu_; the options are its keyword arguments.
func LeakyReluInPlace(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("leaky_relu_", []any{input}, options))
}

// Linear is torch.nn.functional.linear; the options are its keyword arguments.
func Linear(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("linear", []any{input, weight}, options))
}

// LinearCrossEntropy is torch.nn.functional.linear_cross_entropy; the options are linear_bias, weight, reduction, ignore_index, label_smoothing, options.
func LinearCrossEntropy(input *torch.Tensor, linearWeight *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("linear_cross_entropy", []any{input, linearWeight, target}, options))
}

// LocalResponseNorm is torch.nn.functional.local_response_norm; the options are alpha, beta, k.
func LocalResponseNorm(input *torch.Tensor, size any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("local_response_norm", []any{input, size}, options))
}

// LogSoftmax is torch.nn.functional.log_softmax; the options are dim, _stacklevel, dtype.
func LogSoftmax(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("log_softmax", []any{input}, options))
}

// Logsigmoid is torch.nn.functional.logsigmoid; the options are its keyword arguments.
func Logsigmoid(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("logsigmoid", []any{input}, options))
}

// LpPool1d is torch.nn.functional.lp_pool1d; the options are stride, ceil_mode.
func LpPool1d(input *torch.Tensor, normType any, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("lp_pool1d", []any{input, normType, kernelSize}, options))
}

// LpPool2d is torch.nn.functional.lp_pool2d; the options are stride, ceil_mode.
func LpPool2d(input *torch.Tensor, normType any, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("lp_pool2d", []any{input, normType, kernelSize}, options))
}

// LpPool3d is torch.nn.functional.lp_pool3d; the options are stride, ceil_mode.
func LpPool3d(input *torch.Tensor, normType any, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("lp_pool3d", []any{input, normType, kernelSize}, options))
}

// MarginRankingLoss is torch.nn.functional.margin_ranking_loss; the options are margin, size_average, reduce, reduction.
func MarginRankingLoss(input1 *torch.Tensor, input2 *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("margin_ranking_loss", []any{input1, input2, target}, options))
}

// MaxPool1d is torch.nn.functional.max_pool1d; the options are stride, padding, dilation, ceil_mode, return_indices.
func MaxPool1d(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("max_pool1d", []any{input, kernelSize}, options))
}

// MaxPool1dWithIndices is torch.nn.functional.max_pool1d_with_indices; the options are stride, padding, dilation, ceil_mode, return_indices.
func MaxPool1dWithIndices(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("max_pool1d_with_indices", []any{input, kernelSize}, options))
}

// MaxPool2d is torch.nn.functional.max_pool2d; the options are stride, padding, dilation, ceil_mode, return_indices.
func MaxPool2d(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("max_pool2d", []any{input, kernelSize}, options))
}

// MaxPool2dWithIndices is torch.nn.functional.max_pool2d_with_indices; the options are stride, padding, dilation, ceil_mode, return_indices.
func MaxPool2dWithIndices(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("max_pool2d_with_indices", []any{input, kernelSize}, options))
}

// MaxPool3d is torch.nn.functional.max_pool3d; the options are stride, padding, dilation, ceil_mode, return_indices.
func MaxPool3d(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("max_pool3d", []any{input, kernelSize}, options))
}

// MaxPool3dWithIndices is torch.nn.functional.max_pool3d_with_indices; the options are stride, padding, dilation, ceil_mode, return_indices.
func MaxPool3dWithIndices(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("max_pool3d_with_indices", []any{input, kernelSize}, options))
}

// MaxUnpool1d is torch.nn.functional.max_unpool1d; the options are stride, padding, output_size.
func MaxUnpool1d(input *torch.Tensor, indices *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("max_unpool1d", []any{input, indices, kernelSize}, options))
}

// MaxUnpool2d is torch.nn.functional.max_unpool2d; the options are stride, padding, output_size.
func MaxUnpool2d(input *torch.Tensor, indices *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("max_unpool2d", []any{input, indices, kernelSize}, options))
}

// MaxUnpool3d is torch.nn.functional.max_unpool3d; the options are stride, padding, output_size.
func MaxUnpool3d(input *torch.Tensor, indices *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("max_unpool3d", []any{input, indices, kernelSize}, options))
}

// Mish is torch.nn.functional.mish; the options are inplace.
func Mish(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("mish", []any{input}, options))
}

// MseLoss is torch.nn.functional.mse_loss; the options are size_average, reduce, reduction, weight.
func MseLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("mse_loss", []any{input, target}, options))
}

// MultiHeadAttentionForward is torch.nn.functional.multi_head_attention_forward; the options are training, key_padding_mask, need_weights, attn_mask, use_separate_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v, average_attn_weights, is_causal.
func MultiHeadAttentionForward(query *torch.Tensor, key *torch.Tensor, value *torch.Tensor, embedDimToCheck any, numHeads any, inProjWeight *torch.Tensor, inProjBias *torch.Tensor, biasK *torch.Tensor, biasV *torch.Tensor, addZeroAttn any, dropoutP any, outProjWeight *torch.Tensor, outProjBias *torch.Tensor, options ...torch.Kwarg) (_, _ *torch.Tensor) {
	return two(Call("multi_head_attention_forward", []any{query, key, value, embedDimToCheck, numHeads, inProjWeight, inProjBias, biasK, biasV, addZeroAttn, dropoutP, outProjWeight, outProjBias}, options))
}

// MultiMarginLoss is torch.nn.functional.multi_margin_loss; the options are p, margin, weight, size_average, reduce, reduction.
func MultiMarginLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("multi_margin_loss", []any{input, target}, options))
}

// MultilabelMarginLoss is torch.nn.functional.multilabel_margin_loss; the options are size_average, reduce, reduction.
func MultilabelMarginLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("multilabel_margin_loss", []any{input, target}, options))
}

// MultilabelSoftMarginLoss is torch.nn.functional.multilabel_soft_margin_loss; the options are weight, size_average, reduce, reduction.
func MultilabelSoftMarginLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("multilabel_soft_margin_loss", []any{input, target}, options))
}

// NativeChannelShuffle is torch.nn.functional.native_channel_shuffle; the options are its keyword arguments.
func NativeChannelShuffle(input *torch.Tensor, groups any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("native_channel_shuffle", []any{input, groups}, options))
}

// NllLoss is torch.nn.functional.nll_loss; the options are weight, size_average, ignore_index, reduce, reduction.
func NllLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("nll_loss", []any{input, target}, options))
}

// Normalize is torch.nn.functional.normalize; the options are p, dim, eps, out.
func Normalize(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("normalize", []any{input}, options))
}

// OneHot is torch.nn.functional.one_hot; the options are its keyword arguments.
func OneHot(tensor *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("one_hot", []any{tensor}, options))
}

// Pad is torch.nn.functional.pad; the options are mode, value.
func Pad(input *torch.Tensor, pad any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("pad", []any{input, pad}, options))
}

// PairwiseDistance is torch.nn.functional.pairwise_distance; the options are its keyword arguments.
func PairwiseDistance(x1 *torch.Tensor, x2 *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("pairwise_distance", []any{x1, x2}, options))
}

// Pdist is torch.nn.functional.pdist; the options are its keyword arguments.
func Pdist(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("pdist", []any{input}, options))
}

// PixelShuffle is torch.nn.functional.pixel_shuffle; the options are its keyword arguments.
func PixelShuffle(input *torch.Tensor, upscaleFactor any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("pixel_shuffle", []any{input, upscaleFactor}, options))
}

// PixelUnshuffle is torch.nn.functional.pixel_unshuffle; the options are its keyword arguments.
func PixelUnshuffle(input *torch.Tensor, downscaleFactor any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("pixel_unshuffle", []any{input, downscaleFactor}, options))
}

// PoissonNllLoss is torch.nn.functional.poisson_nll_loss; the options are log_input, full, size_average, eps, reduce, reduction.
func PoissonNllLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("poisson_nll_loss", []any{input, target}, options))
}

// Prelu is torch.nn.functional.prelu; the options are its keyword arguments.
func Prelu(input *torch.Tensor, weight *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("prelu", []any{input, weight}, options))
}

// Relu is torch.nn.functional.relu; the options are inplace.
func Relu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("relu", []any{input}, options))
}

// Relu6 is torch.nn.functional.relu6; the options are inplace.
func Relu6(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("relu6", []any{input}, options))
}

// ReluInPlace is torch.nn.functional.relu_; the options are its keyword arguments.
func ReluInPlace(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("relu_", []any{input}, options))
}

// RmsNorm is torch.nn.functional.rms_norm; the options are weight, eps.
func RmsNorm(input *torch.Tensor, normalizedShape any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("rms_norm", []any{input, normalizedShape}, options))
}

// Rrelu is torch.nn.functional.rrelu; the options are lower, upper, training, inplace.
func Rrelu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("rrelu", []any{input}, options))
}

// RreluInPlace is torch.nn.functional.rrelu_; the options are its keyword arguments.
func RreluInPlace(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("rrelu_", []any{input}, options))
}

// ScaledAddmm is torch.nn.functional.scaled_addmm; the options are swizzle_a, swizzle_b, contraction_dim, use_fast_accum, beta, alpha.
func ScaledAddmm(input *torch.Tensor, mat1 *torch.Tensor, mat2 *torch.Tensor, scaleA *torch.Tensor, scaleRecipeA any, scaleB *torch.Tensor, scaleRecipeB any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("scaled_addmm", []any{input, mat1, mat2, scaleA, scaleRecipeA, scaleB, scaleRecipeB}, options))
}

// ScaledAddmmInPlace is torch.nn.functional.scaled_addmm_; the options are swizzle_a, swizzle_b, contraction_dim, use_fast_accum, beta, alpha.
func ScaledAddmmInPlace(input *torch.Tensor, mat1 *torch.Tensor, mat2 *torch.Tensor, scaleA *torch.Tensor, scaleRecipeA any, scaleB *torch.Tensor, scaleRecipeB any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("scaled_addmm_", []any{input, mat1, mat2, scaleA, scaleRecipeA, scaleB, scaleRecipeB}, options))
}

// ScaledDotProductAttention is torch.nn.functional.scaled_dot_product_attention; the options are its keyword arguments.
func ScaledDotProductAttention(query *torch.Tensor, key *torch.Tensor, value any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("scaled_dot_product_attention", []any{query, key, value}, options))
}

// ScaledGroupedMm is torch.nn.functional.scaled_grouped_mm; the options are swizzle_a, swizzle_b, bias, offs, output_dtype, contraction_dim, use_fast_accum.
func ScaledGroupedMm(matA *torch.Tensor, matB *torch.Tensor, scaleA *torch.Tensor, scaleRecipeA any, scaleB *torch.Tensor, scaleRecipeB any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("scaled_grouped_mm", []any{matA, matB, scaleA, scaleRecipeA, scaleB, scaleRecipeB}, options))
}

// ScaledMm is torch.nn.functional.scaled_mm; the options are swizzle_a, swizzle_b, bias, output_dtype, contraction_dim, use_fast_accum.
func ScaledMm(matA *torch.Tensor, matB *torch.Tensor, scaleA *torch.Tensor, scaleRecipeA any, scaleB *torch.Tensor, scaleRecipeB any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("scaled_mm", []any{matA, matB, scaleA, scaleRecipeA, scaleB, scaleRecipeB}, options))
}

// Selu is torch.nn.functional.selu; the options are inplace.
func Selu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("selu", []any{input}, options))
}

// SeluInPlace is torch.nn.functional.selu_; the options are its keyword arguments.
func SeluInPlace(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("selu_", []any{input}, options))
}

// Sigmoid is torch.nn.functional.sigmoid; it has no options.
func Sigmoid(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("sigmoid", []any{input}, options))
}

// Silu is torch.nn.functional.silu; the options are inplace.
func Silu(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("silu", []any{input}, options))
}

// SmoothL1Loss is torch.nn.functional.smooth_l1_loss; the options are size_average, reduce, reduction, beta.
func SmoothL1Loss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("smooth_l1_loss", []any{input, target}, options))
}

// SoftMarginLoss is torch.nn.functional.soft_margin_loss; the options are size_average, reduce, reduction.
func SoftMarginLoss(input *torch.Tensor, target *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("soft_margin_loss", []any{input, target}, options))
}

// Softmax is torch.nn.functional.softmax; the options are dim, _stacklevel, dtype.
func Softmax(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("softmax", []any{input}, options))
}

// Softmin is torch.nn.functional.softmin; the options are dim, _stacklevel, dtype.
func Softmin(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("softmin", []any{input}, options))
}

// Softplus is torch.nn.functional.softplus; the options are its keyword arguments.
func Softplus(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("softplus", []any{input}, options))
}

// Softshrink is torch.nn.functional.softshrink; the options are its keyword arguments.
func Softshrink(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("softshrink", []any{input}, options))
}

// Softsign is torch.nn.functional.softsign; it has no options.
func Softsign(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("softsign", []any{input}, options))
}

// Tanh is torch.nn.functional.tanh; it has no options.
func Tanh(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("tanh", []any{input}, options))
}

// Tanhshrink is torch.nn.functional.tanhshrink; it has no options.
func Tanhshrink(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("tanhshrink", []any{input}, options))
}

// Threshold is torch.nn.functional.threshold; the options are inplace.
func Threshold(input *torch.Tensor, threshold any, value any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("threshold", []any{input, threshold, value}, options))
}

// ThresholdInPlace is torch.nn.functional.threshold_; the options are its keyword arguments.
func ThresholdInPlace(input *torch.Tensor, threshold any, value any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("threshold_", []any{input, threshold, value}, options))
}

// TripletMarginLoss is torch.nn.functional.triplet_margin_loss; the options are margin, p, eps, swap, size_average, reduce, reduction.
func TripletMarginLoss(anchor *torch.Tensor, positive *torch.Tensor, negative *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("triplet_margin_loss", []any{anchor, positive, negative}, options))
}

// TripletMarginWithDistanceLoss is torch.nn.functional.triplet_margin_with_distance_loss; the options are distance_function, margin, swap, reduction.
func TripletMarginWithDistanceLoss(anchor *torch.Tensor, positive *torch.Tensor, negative *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("triplet_margin_with_distance_loss", []any{anchor, positive, negative}, options))
}

// Unfold is torch.nn.functional.unfold; the options are dilation, padding, stride.
func Unfold(input *torch.Tensor, kernelSize any, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("unfold", []any{input, kernelSize}, options))
}

// Upsample is torch.nn.functional.upsample; the options are size, scale_factor, mode, align_corners.
func Upsample(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("upsample", []any{input}, options))
}

// UpsampleBilinear is torch.nn.functional.upsample_bilinear; the options are size, scale_factor.
func UpsampleBilinear(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("upsample_bilinear", []any{input}, options))
}

// UpsampleNearest is torch.nn.functional.upsample_nearest; the options are size, scale_factor.
func UpsampleNearest(input *torch.Tensor, options ...torch.Kwarg) *torch.Tensor {
	return one(Call("upsample_nearest", []any{input}, options))
}
