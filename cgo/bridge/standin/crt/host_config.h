// A stand-in for crt/host_config.h, which tells CUDA's compiler about the host's. See
// host_defines.h.
#pragma once
