// A stand-in for cuda_profiler_api.h, which some releases of libtorch include and
// graphs.cc does not use. See crt/host_defines.h.
#pragma once
