// Code generated from internal/layers/layers.txt by go test ./nn/internal/layers -update. DO NOT EDIT.

package nn

// WithActivation is the argument activation of Transformer, TransformerDecoderLayer, TransformerEncoderLayer.
func WithActivation(v any) Option { return Option{Name: "activation", Value: v} }

// WithAddBiasKv is the argument add_bias_kv of MultiheadAttention.
func WithAddBiasKv(v any) Option { return Option{Name: "add_bias_kv", Value: v} }

// WithAddZeroAttn is the argument add_zero_attn of MultiheadAttention.
func WithAddZeroAttn(v any) Option { return Option{Name: "add_zero_attn", Value: v} }

// WithAffine is the argument affine of BatchNorm1d, BatchNorm2d, BatchNorm3d and 4 others.
func WithAffine(v any) Option { return Option{Name: "affine", Value: v} }

// WithAlignCorners is the argument align_corners of Upsample.
func WithAlignCorners(v any) Option { return Option{Name: "align_corners", Value: v} }

// WithAlpha is the argument alpha of CELU, ELU, LocalResponseNorm.
func WithAlpha(v any) Option { return Option{Name: "alpha", Value: v} }

// WithApproximate is the argument approximate of GELU.
func WithApproximate(v any) Option { return Option{Name: "approximate", Value: v} }

// WithAttnMask is the argument attn_mask of MultiheadAttention.
func WithAttnMask(v any) Option { return Option{Name: "attn_mask", Value: v} }

// WithAverageAttnWeights is the argument average_attn_weights of MultiheadAttention.
func WithAverageAttnWeights(v any) Option { return Option{Name: "average_attn_weights", Value: v} }

// WithBatchFirst is the argument batch_first of GRU, LSTM, MultiheadAttention and 4 others.
func WithBatchFirst(v any) Option { return Option{Name: "batch_first", Value: v} }

// WithBeta is the argument beta of LocalResponseNorm, SmoothL1Loss, Softplus.
func WithBeta(v any) Option { return Option{Name: "beta", Value: v} }

// WithBias is the argument bias of BatchNorm1d, BatchNorm2d, BatchNorm3d and 25 others.
func WithBias(v any) Option { return Option{Name: "bias", Value: v} }

// WithBidirectional is the argument bidirectional of GRU, LSTM, RNN.
func WithBidirectional(v any) Option { return Option{Name: "bidirectional", Value: v} }

// WithBlank is the argument blank of CTCLoss.
func WithBlank(v any) Option { return Option{Name: "blank", Value: v} }

// WithCeilMode is the argument ceil_mode of AvgPool1d, AvgPool2d, AvgPool3d and 6 others.
func WithCeilMode(v any) Option { return Option{Name: "ceil_mode", Value: v} }

// WithCountIncludePad is the argument count_include_pad of AvgPool1d, AvgPool2d, AvgPool3d.
func WithCountIncludePad(v any) Option { return Option{Name: "count_include_pad", Value: v} }

// WithCustomDecoder is the argument custom_decoder of Transformer.
func WithCustomDecoder(v any) Option { return Option{Name: "custom_decoder", Value: v} }

// WithCustomEncoder is the argument custom_encoder of Transformer.
func WithCustomEncoder(v any) Option { return Option{Name: "custom_encoder", Value: v} }

// WithDModel is the argument d_model of Transformer.
func WithDModel(v any) Option { return Option{Name: "d_model", Value: v} }

// WithDelta is the argument delta of HuberLoss.
func WithDelta(v any) Option { return Option{Name: "delta", Value: v} }

// WithDilation is the argument dilation of Conv1d, Conv2d, Conv3d and 8 others.
func WithDilation(v any) Option { return Option{Name: "dilation", Value: v} }

// WithDim is the argument dim of CosineSimilarity, GLU, LogSoftmax and 2 others.
func WithDim(v any) Option { return Option{Name: "dim", Value: v} }

// WithDimFeedforward is the argument dim_feedforward of Transformer, TransformerDecoderLayer, TransformerEncoderLayer.
func WithDimFeedforward(v any) Option { return Option{Name: "dim_feedforward", Value: v} }

// WithDistanceFunction is the argument distance_function of TripletMarginWithDistanceLoss.
func WithDistanceFunction(v any) Option { return Option{Name: "distance_function", Value: v} }

// WithDivValue is the argument div_value of AdaptiveLogSoftmaxWithLoss.
func WithDivValue(v any) Option { return Option{Name: "div_value", Value: v} }

// WithDivisorOverride is the argument divisor_override of AvgPool2d, AvgPool3d.
func WithDivisorOverride(v any) Option { return Option{Name: "divisor_override", Value: v} }

// WithDropout is the argument dropout of GRU, LSTM, MultiheadAttention and 4 others.
func WithDropout(v any) Option { return Option{Name: "dropout", Value: v} }

// WithElementwiseAffine is the argument elementwise_affine of LayerNorm, RMSNorm.
func WithElementwiseAffine(v any) Option { return Option{Name: "elementwise_affine", Value: v} }

// WithEnableNestedTensor is the argument enable_nested_tensor of TransformerEncoder.
func WithEnableNestedTensor(v any) Option { return Option{Name: "enable_nested_tensor", Value: v} }

// WithEndDim is the argument end_dim of Flatten.
func WithEndDim(v any) Option { return Option{Name: "end_dim", Value: v} }

// WithEps is the argument eps of BatchNorm1d, BatchNorm2d, BatchNorm3d and 11 others.
func WithEps(v any) Option { return Option{Name: "eps", Value: v} }

// WithFull is the argument full of GaussianNLLLoss, PoissonNLLLoss.
func WithFull(v any) Option { return Option{Name: "full", Value: v} }

// WithGroups is the argument groups of Conv1d, Conv2d, Conv3d and 3 others.
func WithGroups(v any) Option { return Option{Name: "groups", Value: v} }

// WithHeadBias is the argument head_bias of AdaptiveLogSoftmaxWithLoss.
func WithHeadBias(v any) Option { return Option{Name: "head_bias", Value: v} }

// WithHx is the argument hx of GRU, GRUCell, LSTM and 3 others.
func WithHx(v any) Option { return Option{Name: "hx", Value: v} }

// WithIgnoreIndex is the argument ignore_index of CrossEntropyLoss, NLLLoss, LinearCrossEntropyLoss.
func WithIgnoreIndex(v any) Option { return Option{Name: "ignore_index", Value: v} }

// WithIncludeLastOffset is the argument include_last_offset of EmbeddingBag.
func WithIncludeLastOffset(v any) Option { return Option{Name: "include_last_offset", Value: v} }

// WithInit is the argument init of PReLU.
func WithInit(v any) Option { return Option{Name: "init", Value: v} }

// WithInplace is the argument inplace of AlphaDropout, CELU, Dropout and 16 others.
func WithInplace(v any) Option { return Option{Name: "inplace", Value: v} }

// WithIsCausal is the argument is_causal of MultiheadAttention, TransformerEncoder, TransformerEncoderLayer.
func WithIsCausal(v any) Option { return Option{Name: "is_causal", Value: v} }

// WithK is the argument k of LocalResponseNorm.
func WithK(v any) Option { return Option{Name: "k", Value: v} }

// WithKdim is the argument kdim of MultiheadAttention.
func WithKdim(v any) Option { return Option{Name: "kdim", Value: v} }

// WithKeepdim is the argument keepdim of PairwiseDistance.
func WithKeepdim(v any) Option { return Option{Name: "keepdim", Value: v} }

// WithKeyPaddingMask is the argument key_padding_mask of MultiheadAttention.
func WithKeyPaddingMask(v any) Option { return Option{Name: "key_padding_mask", Value: v} }

// WithLabelSmoothing is the argument label_smoothing of CrossEntropyLoss, LinearCrossEntropyLoss.
func WithLabelSmoothing(v any) Option { return Option{Name: "label_smoothing", Value: v} }

// WithLambd is the argument lambd of Hardshrink, Softshrink.
func WithLambd(v any) Option { return Option{Name: "lambd", Value: v} }

// WithLayerNormEps is the argument layer_norm_eps of Transformer, TransformerDecoderLayer, TransformerEncoderLayer.
func WithLayerNormEps(v any) Option { return Option{Name: "layer_norm_eps", Value: v} }

// WithLogInput is the argument log_input of PoissonNLLLoss.
func WithLogInput(v any) Option { return Option{Name: "log_input", Value: v} }

// WithLogTarget is the argument log_target of KLDivLoss.
func WithLogTarget(v any) Option { return Option{Name: "log_target", Value: v} }

// WithLower is the argument lower of RReLU.
func WithLower(v any) Option { return Option{Name: "lower", Value: v} }

// WithMargin is the argument margin of CosineEmbeddingLoss, HingeEmbeddingLoss, MarginRankingLoss and 3 others.
func WithMargin(v any) Option { return Option{Name: "margin", Value: v} }

// WithMask is the argument mask of TransformerEncoder.
func WithMask(v any) Option { return Option{Name: "mask", Value: v} }

// WithMaskCheck is the argument mask_check of TransformerEncoder.
func WithMaskCheck(v any) Option { return Option{Name: "mask_check", Value: v} }

// WithMaxNorm is the argument max_norm of Embedding, EmbeddingBag.
func WithMaxNorm(v any) Option { return Option{Name: "max_norm", Value: v} }

// WithMaxVal is the argument max_val of Hardtanh.
func WithMaxVal(v any) Option { return Option{Name: "max_val", Value: v} }

// WithMemoryIsCausal is the argument memory_is_causal of Transformer, TransformerDecoder, TransformerDecoderLayer.
func WithMemoryIsCausal(v any) Option { return Option{Name: "memory_is_causal", Value: v} }

// WithMemoryKeyPaddingMask is the argument memory_key_padding_mask of Transformer, TransformerDecoder, TransformerDecoderLayer.
func WithMemoryKeyPaddingMask(v any) Option { return Option{Name: "memory_key_padding_mask", Value: v} }

// WithMemoryMask is the argument memory_mask of Transformer, TransformerDecoder, TransformerDecoderLayer.
func WithMemoryMask(v any) Option { return Option{Name: "memory_mask", Value: v} }

// WithMinVal is the argument min_val of Hardtanh.
func WithMinVal(v any) Option { return Option{Name: "min_val", Value: v} }

// WithMode is the argument mode of EmbeddingBag, Upsample.
func WithMode(v any) Option { return Option{Name: "mode", Value: v} }

// WithMomentum is the argument momentum of BatchNorm1d, BatchNorm2d, BatchNorm3d and 3 others.
func WithMomentum(v any) Option { return Option{Name: "momentum", Value: v} }

// WithNeedWeights is the argument need_weights of MultiheadAttention.
func WithNeedWeights(v any) Option { return Option{Name: "need_weights", Value: v} }

// WithNegativeSlope is the argument negative_slope of LeakyReLU.
func WithNegativeSlope(v any) Option { return Option{Name: "negative_slope", Value: v} }

// WithNhead is the argument nhead of Transformer.
func WithNhead(v any) Option { return Option{Name: "nhead", Value: v} }

// WithNonlinearity is the argument nonlinearity of RNN, RNNCell.
func WithNonlinearity(v any) Option { return Option{Name: "nonlinearity", Value: v} }

// WithNorm is the argument norm of TransformerDecoder, TransformerEncoder.
func WithNorm(v any) Option { return Option{Name: "norm", Value: v} }

// WithNormFirst is the argument norm_first of Transformer, TransformerDecoderLayer, TransformerEncoderLayer.
func WithNormFirst(v any) Option { return Option{Name: "norm_first", Value: v} }

// WithNormType is the argument norm_type of Embedding, EmbeddingBag.
func WithNormType(v any) Option { return Option{Name: "norm_type", Value: v} }

// WithNumDecoderLayers is the argument num_decoder_layers of Transformer.
func WithNumDecoderLayers(v any) Option { return Option{Name: "num_decoder_layers", Value: v} }

// WithNumEncoderLayers is the argument num_encoder_layers of Transformer.
func WithNumEncoderLayers(v any) Option { return Option{Name: "num_encoder_layers", Value: v} }

// WithNumLayers is the argument num_layers of GRU, LSTM, RNN.
func WithNumLayers(v any) Option { return Option{Name: "num_layers", Value: v} }

// WithNumParameters is the argument num_parameters of PReLU.
func WithNumParameters(v any) Option { return Option{Name: "num_parameters", Value: v} }

// WithOffsets is the argument offsets of EmbeddingBag.
func WithOffsets(v any) Option { return Option{Name: "offsets", Value: v} }

// WithOptions is the argument options of LinearCrossEntropyLoss.
func WithOptions(v any) Option { return Option{Name: "options", Value: v} }

// WithOutFeatures is the argument out_features of LinearCrossEntropyLoss.
func WithOutFeatures(v any) Option { return Option{Name: "out_features", Value: v} }

// WithOutputPadding is the argument output_padding of ConvTranspose1d, ConvTranspose2d, ConvTranspose3d.
func WithOutputPadding(v any) Option { return Option{Name: "output_padding", Value: v} }

// WithOutputRatio is the argument output_ratio of FractionalMaxPool2d, FractionalMaxPool3d.
func WithOutputRatio(v any) Option { return Option{Name: "output_ratio", Value: v} }

// WithOutputSize is the argument output_size of ConvTranspose1d, ConvTranspose2d, ConvTranspose3d and 5 others.
func WithOutputSize(v any) Option { return Option{Name: "output_size", Value: v} }

// WithP is the argument p of AlphaDropout, Dropout, Dropout1d and 6 others.
func WithP(v any) Option { return Option{Name: "p", Value: v} }

// WithPadding is the argument padding of AvgPool1d, AvgPool2d, AvgPool3d and 14 others.
func WithPadding(v any) Option { return Option{Name: "padding", Value: v} }

// WithPaddingIdx is the argument padding_idx of Embedding, EmbeddingBag.
func WithPaddingIdx(v any) Option { return Option{Name: "padding_idx", Value: v} }

// WithPaddingMode is the argument padding_mode of Conv1d, Conv2d, Conv3d and 3 others.
func WithPaddingMode(v any) Option { return Option{Name: "padding_mode", Value: v} }

// WithPerSampleWeights is the argument per_sample_weights of EmbeddingBag.
func WithPerSampleWeights(v any) Option { return Option{Name: "per_sample_weights", Value: v} }

// WithPosWeight is the argument pos_weight of BCEWithLogitsLoss.
func WithPosWeight(v any) Option { return Option{Name: "pos_weight", Value: v} }

// WithProjSize is the argument proj_size of GRU, LSTM, RNN.
func WithProjSize(v any) Option { return Option{Name: "proj_size", Value: v} }

// WithRecomputeScaleFactor is the argument recompute_scale_factor of Upsample.
func WithRecomputeScaleFactor(v any) Option { return Option{Name: "recompute_scale_factor", Value: v} }

// WithReduction is the argument reduction of BCELoss, BCEWithLogitsLoss, CTCLoss and 19 others.
func WithReduction(v any) Option { return Option{Name: "reduction", Value: v} }

// WithReturnIndices is the argument return_indices of AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d and 5 others.
func WithReturnIndices(v any) Option { return Option{Name: "return_indices", Value: v} }

// WithScaleFactor is the argument scale_factor of Upsample, UpsamplingBilinear2d, UpsamplingNearest2d.
func WithScaleFactor(v any) Option { return Option{Name: "scale_factor", Value: v} }

// WithScaleGradByFreq is the argument scale_grad_by_freq of Embedding, EmbeddingBag.
func WithScaleGradByFreq(v any) Option { return Option{Name: "scale_grad_by_freq", Value: v} }

// WithSize is the argument size of Upsample, UpsamplingBilinear2d, UpsamplingNearest2d.
func WithSize(v any) Option { return Option{Name: "size", Value: v} }

// WithSparse is the argument sparse of Embedding, EmbeddingBag.
func WithSparse(v any) Option { return Option{Name: "sparse", Value: v} }

// WithSrcIsCausal is the argument src_is_causal of Transformer.
func WithSrcIsCausal(v any) Option { return Option{Name: "src_is_causal", Value: v} }

// WithSrcKeyPaddingMask is the argument src_key_padding_mask of Transformer, TransformerEncoder, TransformerEncoderLayer.
func WithSrcKeyPaddingMask(v any) Option { return Option{Name: "src_key_padding_mask", Value: v} }

// WithSrcMask is the argument src_mask of Transformer, TransformerEncoderLayer.
func WithSrcMask(v any) Option { return Option{Name: "src_mask", Value: v} }

// WithStartDim is the argument start_dim of Flatten.
func WithStartDim(v any) Option { return Option{Name: "start_dim", Value: v} }

// WithStride is the argument stride of AvgPool1d, AvgPool2d, AvgPool3d and 17 others.
func WithStride(v any) Option { return Option{Name: "stride", Value: v} }

// WithSwap is the argument swap of TripletMarginLoss, TripletMarginWithDistanceLoss.
func WithSwap(v any) Option { return Option{Name: "swap", Value: v} }

// WithTgtIsCausal is the argument tgt_is_causal of Transformer, TransformerDecoder, TransformerDecoderLayer.
func WithTgtIsCausal(v any) Option { return Option{Name: "tgt_is_causal", Value: v} }

// WithTgtKeyPaddingMask is the argument tgt_key_padding_mask of Transformer, TransformerDecoder, TransformerDecoderLayer.
func WithTgtKeyPaddingMask(v any) Option { return Option{Name: "tgt_key_padding_mask", Value: v} }

// WithTgtMask is the argument tgt_mask of Transformer, TransformerDecoder, TransformerDecoderLayer.
func WithTgtMask(v any) Option { return Option{Name: "tgt_mask", Value: v} }

// WithThreshold is the argument threshold of Softplus.
func WithThreshold(v any) Option { return Option{Name: "threshold", Value: v} }

// WithTrackRunningStats is the argument track_running_stats of BatchNorm1d, BatchNorm2d, BatchNorm3d and 3 others.
func WithTrackRunningStats(v any) Option { return Option{Name: "track_running_stats", Value: v} }

// WithUpper is the argument upper of RReLU.
func WithUpper(v any) Option { return Option{Name: "upper", Value: v} }

// WithVdim is the argument vdim of MultiheadAttention.
func WithVdim(v any) Option { return Option{Name: "vdim", Value: v} }

// WithWeight is the argument weight of BCELoss, BCEWithLogitsLoss, CrossEntropyLoss and 4 others.
func WithWeight(v any) Option { return Option{Name: "weight", Value: v} }

// WithZeroInfinity is the argument zero_infinity of CTCLoss.
func WithZeroInfinity(v any) Option { return Option{Name: "zero_infinity", Value: v} }
