package functional

// A builtin is a function of torch.nn.functional that Python binds to C++. It is
// recorded as it was called, under the name that torch.fx prints; the overloads
// stand in the order in which Python's parser tries them.
type builtin struct {
	target    string
	required  string // parameters without a default
	overloads []string
}

var builtins = map[string]builtin{
	"adaptive_avg_pool1d":          {"torch.adaptive_avg_pool1d", "input, output_size", []string{"aten::adaptive_avg_pool1d"}},
	"avg_pool1d":                   {"torch.avg_pool1d", "input, kernel_size", []string{"aten::avg_pool1d"}},
	"avg_pool2d":                   {"torch._C._nn.avg_pool2d", "input, kernel_size", []string{"aten::avg_pool2d"}},
	"avg_pool3d":                   {"torch._C._nn.avg_pool3d", "input, kernel_size", []string{"aten::avg_pool3d"}},
	"bilinear":                     {"torch.bilinear", "input1, input2, weight", []string{"aten::bilinear"}},
	"channel_shuffle":              {"torch.channel_shuffle", "input, groups", []string{"aten::channel_shuffle"}},
	"conv1d":                       {"torch.conv1d", "input, weight", []string{"aten::conv1d", "aten::conv1d.padding"}},
	"conv2d":                       {"torch.conv2d", "input, weight", []string{"aten::conv2d", "aten::conv2d.padding"}},
	"conv3d":                       {"torch.conv3d", "input, weight", []string{"aten::conv3d", "aten::conv3d.padding"}},
	"conv_tbc":                     {"torch.conv_tbc", "input, weight, bias", []string{"aten::conv_tbc"}},
	"conv_transpose1d":             {"torch.conv_transpose1d", "input, weight", []string{"aten::conv_transpose1d"}},
	"conv_transpose2d":             {"torch.conv_transpose2d", "input, weight", []string{"aten::conv_transpose2d.input"}},
	"conv_transpose3d":             {"torch.conv_transpose3d", "input, weight", []string{"aten::conv_transpose3d.input"}},
	"cosine_similarity":            {"torch.cosine_similarity", "x1, x2", []string{"aten::cosine_similarity"}},
	"gelu":                         {"torch._C._nn.gelu", "input", []string{"aten::gelu"}},
	"hardshrink":                   {"torch.hardshrink", "input", []string{"aten::hardshrink"}},
	"linear":                       {"torch._C._nn.linear", "input, weight", []string{"aten::linear"}},
	"logsigmoid":                   {"torch._C._nn.log_sigmoid", "input", []string{"aten::log_sigmoid"}},
	"one_hot":                      {"torch._C._nn.one_hot", "tensor", []string{"aten::one_hot"}},
	"pairwise_distance":            {"torch.pairwise_distance", "x1, x2", []string{"aten::pairwise_distance"}},
	"pdist":                        {"torch.pdist", "input", []string{"aten::pdist"}},
	"pixel_shuffle":                {"torch.pixel_shuffle", "input, upscale_factor", []string{"aten::pixel_shuffle"}},
	"pixel_unshuffle":              {"torch.pixel_unshuffle", "input, downscale_factor", []string{"aten::pixel_unshuffle"}},
	"prelu":                        {"torch.prelu", "input, weight", []string{"aten::prelu"}},
	"scaled_dot_product_attention": {"torch._C._nn.scaled_dot_product_attention", "query, key, value", []string{"aten::scaled_dot_product_attention"}},
	"softplus":                     {"torch._C._nn.softplus", "input", []string{"aten::softplus"}},
	"softshrink":                   {"torch._C._nn.softshrink", "input", []string{"aten::softshrink"}},
}
