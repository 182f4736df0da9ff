package functional

// A builtin is a function of torch.nn.functional that Python binds to C++. It is
// recorded as it was called, under the name that torch.fx prints.
type builtin struct {
	target   string
	required string // parameters without a default
}

var builtins = map[string]builtin{
	"adaptive_avg_pool1d":          {"torch.adaptive_avg_pool1d", "input, output_size"},
	"avg_pool1d":                   {"torch.avg_pool1d", "input, kernel_size"},
	"avg_pool2d":                   {"torch._C._nn.avg_pool2d", "input, kernel_size"},
	"avg_pool3d":                   {"torch._C._nn.avg_pool3d", "input, kernel_size"},
	"bilinear":                     {"torch.bilinear", "input1, input2, weight"},
	"celu_":                        {"torch.celu_", "input"},
	"channel_shuffle":              {"torch.channel_shuffle", "input, groups"},
	"conv1d":                       {"torch.conv1d", "input, weight"},
	"conv2d":                       {"torch.conv2d", "input, weight"},
	"conv3d":                       {"torch.conv3d", "input, weight"},
	"conv_tbc":                     {"torch.conv_tbc", "input, weight, bias"},
	"conv_transpose1d":             {"torch.conv_transpose1d", "input, weight"},
	"conv_transpose2d":             {"torch.conv_transpose2d", "input, weight"},
	"conv_transpose3d":             {"torch.conv_transpose3d", "input, weight"},
	"cosine_similarity":            {"torch.cosine_similarity", "x1, x2"},
	"elu_":                         {"torch._C._nn.elu_", "input"},
	"gelu":                         {"torch._C._nn.gelu", "input"},
	"hardshrink":                   {"torch.hardshrink", "input"},
	"hardtanh_":                    {"torch._C._nn.hardtanh_", "input"},
	"leaky_relu_":                  {"torch._C._nn.leaky_relu_", "input"},
	"linear":                       {"torch._C._nn.linear", "input, weight"},
	"logsigmoid":                   {"torch._C._nn.log_sigmoid", "input"},
	"native_channel_shuffle":       {"torch.native_channel_shuffle", "input, groups"},
	"one_hot":                      {"torch._C._nn.one_hot", "tensor"},
	"pairwise_distance":            {"torch.pairwise_distance", "x1, x2"},
	"pdist":                        {"torch.pdist", "input"},
	"pixel_shuffle":                {"torch.pixel_shuffle", "input, upscale_factor"},
	"pixel_unshuffle":              {"torch.pixel_unshuffle", "input, downscale_factor"},
	"prelu":                        {"torch.prelu", "input, weight"},
	"relu_":                        {"torch.relu_", "input"},
	"rrelu_":                       {"torch.rrelu_", "input"},
	"scaled_dot_product_attention": {"torch._C._nn.scaled_dot_product_attention", "query, key, value"},
	"selu_":                        {"torch.selu_", "input"},
	"softplus":                     {"torch._C._nn.softplus", "input"},
	"softshrink":                   {"torch._C._nn.softshrink", "input"},
	"threshold_":                   {"torch.threshold_", "input, threshold, value"},
}
