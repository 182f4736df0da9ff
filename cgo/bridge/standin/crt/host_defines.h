// A stand-in for crt/host_defines.h. The headers of CUDA's runtime include it, and the
// package that carries them, nvidia-cuda-runtime, does not: it belongs to the
// compiler's. What marks functions and types for that compiler means nothing to this
// one. This folder comes last on the include path: a real header wins.
#pragma once

#define __host__
#define __device__
#define __global__
#define __constant__
#define __shared__
#define __managed__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __no_return__ __attribute__((noreturn))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __thread__ __thread
#define __import__
#define __export__
#define __cdecl
#define __annotate__(a) __attribute__((a))
#define __location__(a)
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __CUDA_DEPRECATED_MSG(m)
