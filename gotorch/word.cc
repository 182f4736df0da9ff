//go:build gotorch

// An at::Tensor is one pointer to a TensorImpl, and gotorch frees those that it
// holds by delete: so the word for one comes from C++'s new.
#include <new>

extern "C" void* torchfx_gotorch_word(void) noexcept { return ::operator new(sizeof(void*)); }
