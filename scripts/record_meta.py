#!/usr/bin/env python3
"""Record what operators give on the device meta, for the tests of the bridge's own meta kernels.

    third_party/reference/bin/python scripts/record_meta.py --ops OPS --out cgo/testdata/meta.jsonl

OPS is a file of operator names, one a line: those of which calls are wanted (TestMetaKernelsAreCalled of ./cgo writes the list of
the bridge's own kernels with TORCHFX_META_KERNELS=OPS). The calls come from PyTorch's operator and module tests, forward and
backward, as the dispatcher sees them below autograd, and from the table CALLS below. A line is

    {"fn": "aten::relu", "args": [...], "kwargs": {...}, "tensors": [{"dtype", "size", "stride", "offset"}], "inputs": n,
     "cpu": what the result looks like, "meta": the same on the device meta, or "error: its text" in place of either}

args and tensors are written as in ../shared/fixtures/ops, but no tensor has elements. A call that the CPU refuses is one of
bad arguments. Of one operator at most MOST calls that differ in more than numbers are kept.
"""
import argparse
import collections
import json
import logging
import re
import sys
import types
import unittest
import warnings

# PyTorch's test helpers import it; nothing here uses it.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
MOST = 10

f = lambda *s, **k: torch.randn(*s, **k)
# Operators that the tests do not reach on a CPU, or reach in one way alone.
CALLS = [
    ("aten::mkldnn_convolution", f(2, 4, 8, 8), f(6, 4, 3, 3), f(6), [1, 1], [1, 1], [1, 1], 1),
    ("aten::mkldnn_convolution", f(2, 4, 8, 8).to(memory_format=torch.channels_last), f(6, 2, 3, 3), None, [0, 0], [2, 2], [1, 1], 2),
    ("aten::convolution", f(2, 4, 8, 8).to(memory_format=torch.channels_last), f(6, 4, 3, 3), f(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ("aten::convolution", f(2, 4, 8, 8), f(6, 4, 3, 3).to(memory_format=torch.channels_last), f(6), [1, 1], [1, 1], [2, 2], False, [0, 0], 1),
    ("aten::convolution", f(1, 4, 8, 8), f(4, 1, 3, 3), None, [2, 2], [1, 1], [1, 1], False, [0, 0], 4),
    ("aten::convolution", f(2, 4, 8, 8), f(4, 3, 3, 3), f(6), [2, 2], [1, 1], [1, 1], True, [1, 1], 2),
    ("aten::convolution", f(2, 8, 4).transpose(1, 2), f(6, 4, 3), None, [1], [1], [1], False, [0], 1),
    ("aten::convolution", f(2, 4, 8), f(4, 3, 3), f(6), [2], [0], [1], True, [1], 2),
    ("aten::convolution", f(2, 4, 5, 6, 7).to(memory_format=torch.channels_last_3d), f(6, 4, 3, 3, 3), f(6), [1, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 1),
    ("aten::convolution", f(2, 4, 8, 8, dtype=torch.float64), f(6, 4, 3, 3, dtype=torch.float64), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ("aten::convolution", f(2, 4, 8, 8, dtype=torch.float64), f(6, 4, 3, 3, dtype=torch.float64), None, [1, 1], [1, 1], [2, 2], False, [0, 0], 1),
    ("aten::convolution", f(2, 4, 8, 8).bfloat16(), f(6, 4, 3, 3).bfloat16(), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ("aten::convolution", f(0, 4, 8, 8), f(6, 4, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ("aten::convolution", f(2, 5, 8, 8), f(6, 4, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ("aten::convolution", f(2, 4, 2, 2), f(6, 4, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ("aten::convolution", f(2, 4, 8, 8), f(6, 4, 3, 3), f(5), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ("aten::convolution", f(2, 4, 8, 8), f(6, 4, 3, 3), None, [1, 1], [-1, 0], [1, 1], False, [0, 0], 1),
    ("aten::convolution", f(2, 4, 8, 8), f(6, 4, 3, 3), None, [0, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ("aten::native_batch_norm", f(2, 3, 4, 4).to(memory_format=torch.channels_last), f(3), f(3), torch.zeros(3), torch.ones(3), True, 0.1, 1e-5),
    ("aten::native_batch_norm", f(2, 3, 4, 4), f(3), f(3), torch.zeros(3), torch.ones(3), False, 0.1, 1e-5),
    ("aten::native_batch_norm", f(2, 3, 4).transpose(0, 2), f(3), None, torch.zeros(3), torch.ones(3), True, 0.1, 1e-5),
    ("aten::native_batch_norm", f(2, 3, 4, 4).bfloat16(), f(3), f(3), torch.zeros(3), torch.ones(3), True, 0.1, 1e-5),
    ("aten::native_batch_norm", f(2, 3, 4, 4).bfloat16(), f(3).bfloat16(), f(3).bfloat16(), torch.zeros(3).bfloat16(), torch.ones(3).bfloat16(), True, 0.1, 1e-5),
    ("aten::native_batch_norm", f(2, 3, 4, 4).bfloat16(), None, None, None, None, True, 0.1, 1e-5),
    ("aten::_native_batch_norm_legit", f(2, 3, 4, 4), f(3), f(3), torch.zeros(3), torch.ones(3), True, 0.1, 1e-5),
    ("aten::_native_batch_norm_legit.no_stats", f(2, 3, 4, 4), f(3), f(3), True, 0.1, 1e-5),
    ("aten::_batch_norm_with_update", f(2, 3, 4, 4), f(3), f(3), torch.zeros(3), torch.ones(3), 0.1, 1e-5),
    ("aten::batch_norm_update_stats", f(2, 3, 4, 4), torch.zeros(3), torch.ones(3), 0.1),
    ("aten::native_batch_norm_backward", f(2, 3, 4, 4), f(2, 3, 4, 4).to(memory_format=torch.channels_last), f(3), torch.zeros(3), torch.ones(3), f(3), f(3), True, 1e-5, [True, True, True]),
    ("aten::cudnn_batch_norm", f(2, 3, 4, 4), f(3), f(3), torch.zeros(3), torch.ones(3), True, 0.1, 1e-5),
    ("aten::miopen_batch_norm", f(2, 3, 4, 4), f(3), f(3), torch.zeros(3), torch.ones(3), True, 0.1, 1e-5),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", f(2, 5, 4, 8).transpose(1, 2), f(2, 4, 5, 8), f(2, 4, 5, 8)),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", f(2, 4, 5, 8).bfloat16(), f(2, 4, 6, 8).bfloat16(), f(2, 4, 6, 8).bfloat16()),
    ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", f(2, 4, 5, 8), f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 8), f(2, 4, 5, 8), f(2, 4, 5), 0.0, False),
    ("aten::_scaled_dot_product_efficient_attention", f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 16), None, True),
    ("aten::_thnn_fused_lstm_cell", f(2, 12), f(2, 12), f(2, 3), f(12), f(12)),
    ("aten::_thnn_fused_gru_cell", f(2, 9), f(2, 9), f(2, 3), f(9), f(9)),
    ("aten::_cudnn_rnn", f(5, 2, 3), [f(16, 3), f(16, 4), f(16), f(16)], 4, None, f(1, 2, 4), f(1, 2, 4), 2, 4, 0, 1, False, 0.0, False, False, [], None),
    ("aten::mkldnn_rnn_layer", f(5, 2, 3), f(16, 3), f(16, 4), f(16), f(16), f(1, 2, 4), f(1, 2, 4), False, [], 2, 4, 1, True, False, False, False),
    ("aten::_embedding_bag", f(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])),
    ("aten::_embedding_bag", f(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2]), False, 1),
    ("aten::_embedding_bag", f(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2]), False, 2),
    ("aten::_embedding_bag", f(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2, 4]), False, 0, False, None, True),
    ("aten::_embedding_bag", f(10, 3), torch.tensor([1, 2, 4, 5], dtype=torch.int32), torch.tensor([0, 2]), False, 0, False, f(4)),
    ("aten::_embedding_bag", f(10, 3).double(), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2]), False, 0, False, None, False, 1),
    ("aten::_embedding_bag", f(10, 3).long(), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])),
    ("aten::_embedding_bag_forward_only", f(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2, 4]), False, 0, False, None, True),
    ("aten::_embedding_bag_forward_only", f(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2, 4]), False, 2, False, None, True),
    ("aten::_embedding_bag_dense_backward", f(2, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 0, 1, 1]), torch.tensor([2, 2]), torch.tensor([0, 0]), 10, False, 0, None),
    ("aten::_embedding_bag_per_sample_weights_backward", f(2, 3), f(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2]), torch.tensor([0, 0, 1, 1]), 0),
    ("aten::embedding_dense_backward", f(2, 4, 3), torch.randint(0, 10, (2, 4)), 10, -1, False),
    ("aten::fake_quantize_per_tensor_affine_cachemask", f(2, 3).t(), 0.1, 0, 0, 255),
    ("aten::fake_quantize_per_channel_affine_cachemask", f(2, 3), f(3).abs(), torch.zeros(3, dtype=torch.int32), 1, 0, 255),
    ("aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", f(2, 3), torch.tensor([0.1]), torch.tensor([0], dtype=torch.int32), torch.tensor([1]), 0, 255),
    ("aten::_fake_quantize_learnable_per_tensor_affine", f(2, 3), torch.tensor([0.1]), torch.tensor([0.0]), 0, 255),
    ("aten::_fake_quantize_learnable_per_channel_affine", f(2, 3), f(3).abs(), torch.zeros(3), 1, 0, 255),
    ("aten::_fake_quantize_learnable_per_tensor_affine_backward", f(2, 3), f(2, 3), torch.tensor([0.1]), torch.tensor([0.0]), 0, 255),
    ("aten::_fake_quantize_learnable_per_channel_affine_backward", f(2, 3), f(2, 3), f(3).abs(), torch.zeros(3), 1, 0, 255),
    ("aten::_fused_moving_avg_obs_fq_helper", f(2, 3), torch.tensor([1]), torch.tensor([1]), torch.tensor(0.0), torch.tensor(1.0), torch.tensor([0.1]), torch.tensor([0], dtype=torch.int32), 0.01, 0, 255, 0),
    ("aten::_weight_norm_interface", f(4, 3), f(4, 1), 0),
    ("aten::_weight_norm_interface_backward", f(4, 3), f(4, 3), f(4, 1), f(4, 1), 0),
    ("aten::_transform_bias_rescale_qkv", f(2, 5, 24), f(24), 2),
    ("aten::_native_multi_head_attention", f(2, 5, 8), f(2, 5, 8), f(2, 5, 8), 8, 2, f(24, 8), f(24), f(8, 8), f(8)),
    ("aten::_native_multi_head_attention", f(2, 5, 8), f(2, 5, 8), f(2, 5, 8), 8, 2, f(24, 8), f(24), f(8, 8), f(8), None, False),
    ("aten::_masked_softmax", f(2, 2, 5, 5), torch.zeros(2, 2, 5, 5, dtype=torch.bool)),
    ("aten::_int_mm", torch.ones(17, 8, dtype=torch.int8), torch.ones(8, 16, dtype=torch.int8)),
    ("aten::_weight_int8pack_mm", f(4, 32).bfloat16(), torch.ones(16, 32, dtype=torch.int8), f(16).bfloat16()),
    ("aten::_convert_weight_to_int4pack_for_cpu", torch.ones(32, 64, dtype=torch.int32), 2),
    ("aten::_weight_int4pack_mm_for_cpu", f(4, 64), torch.ones(32, 32, dtype=torch.uint8), 32, f(2, 32, 2)),
    ("aten::_add_relu.Tensor", f(2, 3), f(3)),
    ("aten::_add_relu.Scalar", f(2, 3), 2.0),
    ("aten::_aminmax", f(2, 3)),
    ("aten::_aminmax.dim", f(2, 3), 1, True),
    ("aten::rrelu_with_noise", f(2, 3).t(), f(3, 2), 0.1, 0.3, True),
    ("aten::triu_indices", 3, 4, 1),
    ("aten::triu_indices", 4, 3, -2),
    ("aten::tril_indices", 3, 4, 1),
    ("aten::tril_indices", 4, 3, -2),
    ("aten::tril_indices", 3, 3, -5),
    ("aten::triu_indices", 3, 3, 5),
    ("aten::poisson", f(2, 3).abs().t()),
    ("aten::_standard_gamma", f(2, 3).abs()),
    ("aten::_sample_dirichlet", f(2, 3).abs()),
    ("aten::binomial", torch.full((2, 3), 4.0), torch.full((2, 3), 0.5)),
    ("aten::multinomial", f(2, 3).abs(), 2),
    ("aten::multinomial", f(3).abs(), 5, True),
    ("aten::multinomial", f(3).abs(), 5),
    ("aten::multinomial", torch.ones(2, 3, 4), 2),
    ("aten::relu", f(4, 5).t()),
    ("aten::relu", f(1, 5).expand(4, 5)),
    ("aten::relu", f(2, 3, 4, 5).to(memory_format=torch.channels_last)[:, :, ::2]),
    ("aten::hardtanh", f(2, 3, 4, 5).to(memory_format=torch.channels_last)),
    ("aten::where.self", f(4, 5).t() > 0, f(5, 4), torch.tensor(1.0, dtype=torch.float64)),
    ("aten::index_select", f(3, 4, 5).transpose(0, 2), 1, torch.tensor([0, 2])),
    ("aten::var.correction", f(3, 4, 5).transpose(0, 2), [1]),
    ("aten::_fft_r2c", f(3, 4, 5).transpose(0, 2), [1], 0, True),
    ("aten::_fft_c2c", torch.randn(3, 4, 5, dtype=torch.complex64).transpose(0, 1), [0, 2], 0, True),
    ("aten::_fft_c2r", torch.randn(3, 4, 5, dtype=torch.complex64).transpose(0, 1), [0, 2], 0, 8),
    ("aten::glu_jvp", f(2, 3), f(2, 6), f(2, 6), 1),
    ("aten::glu_backward_jvp", f(2, 6), f(2, 3), f(2, 6), f(2, 3), f(2, 6), 1),
    ("aten::_logcumsumexp", f(3, 4).t(), 0),
    ("aten::_standard_gamma_grad", f(2, 3).abs(), f(2, 3).abs()),
    ("aten::_dirichlet_grad", f(2, 3).abs(), f(2, 3).abs(), f(2, 3).abs()),
    ("aten::_fused_dropout", f(2, 3), 0.5),
    ("aten::_masked_scale", f(2, 3), torch.ones(2, 3, dtype=torch.uint8), 2.0),
    ("aten::rrelu_with_noise_", f(2, 3), f(2, 3), 0.1, 0.3, True),
    ("aten::randperm.generator_out", 5, {"generator": None, "out": torch.empty(0, dtype=torch.int64)}),
    ("aten::median.dim_values", f(2, 3), 1, True, {"values": f(0), "indices": torch.empty(0, dtype=torch.int64)}),
    ("aten::nanmedian.dim_values", f(2, 3), -1, {"values": f(0), "indices": torch.empty(0, dtype=torch.int64)}),
    ("aten::_convolution", f(2, 4, 8, 8), f(6, 4, 3, 3), f(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True),
    ("aten::_slow_conv2d_forward", f(2, 4, 8, 8), f(6, 4, 3, 3), [3, 3], f(6), [1, 1], [1, 1]),
    ("aten::_slow_conv2d_backward.output_mask", f(2, 6, 8, 8), f(2, 4, 8, 8), f(6, 4, 3, 3), [3, 3], [1, 1], [1, 1], [True, True, True]),
    ("aten::slow_conv3d_forward", f(2, 4, 8, 8, 8), f(6, 4, 3, 3, 3), [3, 3, 3], f(6), [1, 1, 1], [1, 1, 1]),
    ("aten::slow_conv_dilated2d", f(2, 4, 8, 8), f(6, 4, 3, 3), [3, 3], f(6), [1, 1], [1, 1], [2, 2]),
    ("aten::slow_conv_dilated3d", f(2, 4, 8, 8, 8), f(6, 4, 3, 3, 3), [3, 3, 3], f(6), [1, 1, 1], [1, 1, 1], [2, 2, 2]),
    ("aten::slow_conv_transpose3d", f(2, 4, 5, 5, 5), f(4, 6, 3, 3, 3), [3, 3, 3], f(6), [2, 2, 2], [1, 1, 1], [1, 1, 1], [1, 1, 1]),
    ("mkldnn::_convolution_pointwise.binary", f(2, 4, 8, 8), f(2, 6, 8, 8), f(6, 4, 3, 3), f(6), [1, 1], [1, 1], [1, 1], 1, "add", None, None, [], None),
    ("mkldnn::_convolution_pointwise_.binary", f(2, 6, 8, 8), f(2, 4, 8, 8), f(6, 4, 3, 3), f(6), [1, 1], [1, 1], [1, 1], 1, "add", None, None, [], None),
    ("aten::cudnn_batch_norm_backward", f(2, 3, 4, 4), f(2, 3, 4, 4), f(3), f(3), f(3), f(3), f(3), 1e-5, torch.empty(0, dtype=torch.uint8)),
    ("aten::miopen_batch_norm_backward", f(2, 3, 4, 4), f(2, 3, 4, 4), f(3), f(3), f(3), f(3), f(3), 1e-5),
    ("aten::_fused_rms_norm_backward", f(2, 3), f(2, 3), [3], f(2, 1), f(3), [True, True]),
    ("aten::adaptive_avg_pool2d.out", f(2, 3, 6, 6), [2, 3], {"out": f(0)}),
    ("aten::adaptive_avg_pool3d.out", f(2, 3, 6, 6, 6), [2, 3, 1], {"out": f(0)}),
    ("aten::adaptive_avg_pool3d_backward.grad_input", f(2, 3, 2, 2, 2), f(2, 3, 6, 6, 6), {"grad_input": f(0)}),
    ("aten::smooth_l1_loss_backward.grad_input", f(2, 3), f(2, 3), f(2, 3), 0, 1.0, {"grad_input": f(0)}),
    ("aten::huber_loss_backward.out", f(2, 3), f(2, 3), f(2, 3), 0, 1.0, {"grad_input": f(0)}),
    ("aten::_thnn_fused_lstm_cell_backward_impl", f(2, 3), f(2, 3), f(2, 3), f(2, 3), f(2, 12), True),
    ("aten::_transformer_encoder_layer_fwd", f(2, 5, 8), 8, 2, f(24, 8), f(24), f(8, 8), f(8), True, False, 1e-5, f(8), f(8), f(8), f(8), f(16, 8), f(16), f(8, 16), f(8)),
    ("aten::_masked_softmax_backward", f(2, 2, 5, 5), f(2, 2, 5, 5), torch.zeros(2, 2, 5, 5, dtype=torch.bool), 3),
    ("aten::_cholesky_solve_helper", f(3, 2), f(3, 3), False),
    ("aten::_compute_linear_combination", f(4, 3, 3), f(2, 4)),
    ("aten::_linalg_eigvals", f(3, 3)),
    ("aten::mm.dtype", f(2, 3).half(), f(3, 4).half(), torch.float32),
    ("aten::bmm.dtype", f(5, 2, 3).half(), f(5, 3, 4).half(), torch.float32),
    ("aten::addmm.dtype", f(4), f(2, 3).half(), f(3, 4).half(), torch.float32),
    ("aten::roll", f(4, 5).t(), [1], [0]),
    ("aten::roll", f(4, 5).t(), [5, 1], [0, 1]),
    ("aten::roll", f(2, 3, 4, 4).to(memory_format=torch.channels_last), [1], [2]),
    ("mkldnn::_linear_pointwise", f(2, 3, 4), f(5, 4), f(5), "relu", [], ""),
    ("mkldnn::_linear_pointwise.binary", f(2, 4), f(2, 5), f(5, 4), f(5), "add"),
    ("mkldnn::_convolution_pointwise", f(2, 4, 8, 8), f(6, 4, 3, 3), f(6), [1, 1], [1, 1], [1, 1], 1, "relu", [], ""),
]


def looks(v):
    if isinstance(v, torch.Tensor):
        s = f"{v.dtype} [{' '.join(map(str, v.shape))}] "
        s += f"[{' '.join(map(str, v.stride()))}]" if v.layout == torch.strided else str(v.layout)
        if v.layout == torch.strided and v.storage_offset():
            s += f" from {v.storage_offset()}"
        return s + " conj" * (v.layout == torch.strided and v.is_conj()) + " neg" * (v.layout == torch.strided and v.is_neg())
    if isinstance(v, (list, tuple)):
        return f"[{' '.join(map(looks, v))}]"
    return "none" if v is None else str(v)


class Unwritable(Exception):
    pass


class Encoder:
    def __init__(self):
        self.tensors, self.seen = [], []

    def __call__(self, v):
        if isinstance(v, torch.Tensor):
            for i, t in enumerate(self.seen):
                if t is v:
                    return {"t": i}
            if v.layout != torch.strided or v.device.type not in ("cpu", "meta") or v.is_quantized or v.is_conj() or v.is_neg():
                raise Unwritable
            e = {"dtype": str(v.dtype)[6:], "size": list(v.shape)}
            if not v.is_contiguous() or list(v.stride()) != list(torch.empty(v.shape, device="meta").stride()):
                e["stride"] = list(v.stride())
            if v.storage_offset():
                e["offset"] = v.storage_offset()
            self.tensors.append(e)
            self.seen.append(v)
            return {"t": len(self.seen) - 1}
        if v is None or isinstance(v, (bool, int, str)):
            return v
        if isinstance(v, float):
            return {"f": v if v == v and abs(v) != float("inf") else str(v)}
        if isinstance(v, complex):
            return {"c": [v.real, v.imag]}
        for kind, cls in (("dtype", torch.dtype), ("layout", torch.layout), ("memory_format", torch.memory_format)):
            if isinstance(v, cls):
                return {kind: str(v)[6:]}
        if isinstance(v, torch.device):
            return {"device": "meta"}
        if isinstance(v, (list, tuple)):
            return [self(x) for x in v]
        raise Unwritable


def on_meta(v):
    if isinstance(v, torch.Tensor):
        return torch.empty(0, dtype=v.dtype, device="meta").set_(torch.empty(v.untyped_storage().nbytes(), dtype=torch.uint8, device="meta").untyped_storage(), v.storage_offset(), v.shape, v.stride())
    if isinstance(v, (list, tuple)):
        return type(v)(map(on_meta, v)) if isinstance(v, list) else tuple(map(on_meta, v))
    return torch.device("meta") if isinstance(v, torch.device) else v


def name(func):
    base = func._schema.name
    return base + ("." + func._schema.overload_name if func._schema.overload_name else "")


class Recorder(TorchDispatchMode):
    def __init__(self, wanted):
        super().__init__()
        self.wanted, self.lines, self.count, self.keys = wanted, [], collections.Counter(), set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if name(func) not in self.wanted:
            return func(*args, **kwargs)
        return self.record(func, args, kwargs)

    def record(self, func, args, kwargs):
        line = self.line(func, args, kwargs)
        try:
            out = func(*args, **kwargs)
        except Exception as e:
            if line is not None:
                line["cpu"] = "error: " + str(e).split("\n")[0]
                self.keep(func, args, kwargs, line)
            raise
        if line is not None:
            line["cpu"] = looks(out)
            self.keep(func, args, kwargs, line)
        return out

    def line(self, func, args, kwargs):
        enc = Encoder()
        try:
            line = {"fn": name(func), "args": [enc(a) for a in args], "kwargs": {k: enc(v) for k, v in kwargs.items()}}
        except Unwritable:
            return None
        line["tensors"], line["inputs"] = enc.tensors, len(enc.tensors)
        return line

    def keep(self, func, args, kwargs, line):
        bad = line["cpu"].startswith("error: ")
        key = line["fn"] + str(bad) + re.sub(r"\d+", "n", line["cpu"]) + str([(t["dtype"], len(t["size"]), "stride" in t) for t in line["tensors"]])
        if key in self.keys or self.count[line["fn"], bad] >= MOST:
            return
        self.keys.add(key)
        self.count[line["fn"], bad] += 1
        try:
            line["meta"] = looks(func(*on_meta(args), **{k: on_meta(v) for k, v in kwargs.items()}))
        except Exception as e:
            line["meta"] = "error: " + str(e).split("\n")[0]
        if not line["kwargs"]:
            del line["kwargs"]
        self.lines.append(line)


def overload(fn):
    namespace, rest = fn.split("::")
    packet, _, over = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), over or "default")


def grads(v):
    return [t for t in torch.utils._pytree.tree_leaves(v) if isinstance(t, torch.Tensor) and t.requires_grad]


def backward(out):
    with torch.autograd.set_multithreading_enabled(False):
        for t in grads(out)[:2]:
            t.backward(torch.ones_like(t), retain_graph=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ops", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    assert torch.__version__.startswith("2.15.0"), torch.__version__
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rec = Recorder(set(open(args.ops).read().split()))
    for fn, *call in CALLS:
        if fn not in rec.wanted:
            continue
        named = call.pop() if call and isinstance(call[-1], dict) else {}
        try:
            rec.record(overload(fn), call, named)
        except Exception:
            pass
    for info in sorted(op_db, key=lambda o: (o.name, o.variant_test_name)):
        for dtype in (torch.float32, torch.complex64, torch.int64, torch.bfloat16):
            if dtype not in info.supported_dtypes("cpu"):
                continue
            grad = dtype in (torch.float32, torch.complex64) and info.supports_autograd
            try:
                samples = list(info.sample_inputs("cpu", dtype, requires_grad=grad))[:8]
            except Exception:
                continue
            for s in samples:
                try:
                    with rec:
                        backward(info(s.input, *s.args, **s.kwargs))
                except Exception:
                    pass
        if info.error_inputs_func is not None:
            try:
                samples = list(info.error_inputs("cpu"))[:12]
            except Exception:
                samples = []
            for e in samples:
                s = e.sample_input
                try:
                    with rec:
                        info(s.input, *s.args, **s.kwargs)
                except Exception:
                    pass
    for info in module_db:
        for training in (True, False):
            try:
                samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)[:4]
            except Exception:
                continue
            for s in samples:
                try:
                    m = info.module_cls(*s.constructor_input.args, **s.constructor_input.kwargs).train(training)
                    with rec:
                        backward(m(*s.forward_input.args, **s.forward_input.kwargs))
                except Exception:
                    pass
    rec.lines.sort(key=lambda l: (l["fn"], json.dumps(l)))
    with open(args.out, "w") as out:
        for line in rec.lines:
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
    print(len(rec.lines), "calls of", len({l["fn"] for l in rec.lines}), "operators;", len(rec.wanted) - len({l["fn"] for l in rec.lines}), "without")
    print(*sorted(rec.wanted - {l["fn"] for l in rec.lines}))


main()
