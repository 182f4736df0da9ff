#define _GNU_SOURCE
#include "delegate.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __APPLE__
#include <link.h>

// runtimes counts the OpenMP runtimes in the process and keeps the names of the
// last two.
typedef struct runtimes {
  int count;
  char last[2][256];
} runtimes;

static int visit(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  runtimes* r = (runtimes*)data;
  if (info->dlpi_name == NULL) return 0;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* base = slash ? slash + 1 : info->dlpi_name;
  if (strncmp(base, "libgomp", 7) != 0 && strncmp(base, "libomp.", 7) != 0 && strncmp(base, "libiomp5", 8) != 0) return 0;
  snprintf(r->last[r->count % 2], sizeof r->last[0], "%s", info->dlpi_name);
  r->count++;
  return 0;
}
#endif

const tfx_delegate_api* tfx_open_delegate(const char* path, char* msg, size_t n) {
#ifndef __APPLE__
  runtimes before = {0}, after = {0};
  dl_iterate_phdr(visit, &before);
#endif
  void* lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) {
    snprintf(msg, n, "%s", dlerror());
    return NULL;
  }
#ifndef __APPLE__
  dl_iterate_phdr(visit, &after);
  if (before.count > 0 && after.count > before.count) {
    snprintf(msg, n, "%s: expected libtorch's OpenMP runtime, got a second one: %s", path, after.last[(after.count - 1) % 2]);
    dlclose(lib);
    return NULL;
  }
#endif
  tfx_delegate_fn get = (tfx_delegate_fn)dlsym(lib, "tfx_delegate");
  if (get == NULL) {
    snprintf(msg, n, "%s: not a delegate: no symbol tfx_delegate", path);
    dlclose(lib);
    return NULL;
  }
  const tfx_delegate_api* api = get();
  if (api == NULL) snprintf(msg, n, "%s: its kernels do not run on this machine", path);
  return api;
}

// buffers reads tensors from words. They are freed by the caller; NULL where there
// is no memory for them.
static tfx_delegate_buffer* buffers(const int64_t* words, uint64_t count) {
  tfx_delegate_buffer* all = (tfx_delegate_buffer*)calloc(count + 1, sizeof *all);
  for (uint64_t i = 0; all != NULL && i < count; i++) {
    const int64_t dim = words[1];
    all[i].dtype = (int32_t)words[0];
    all[i].dim = (int32_t)dim;
    all[i].data = (const void*)(uintptr_t)words[2];
    all[i].sizes = words + 3;
    all[i].strides = words + 3 + dim;
    words += 3 + 2 * dim;
  }
  return all;
}

static int32_t no_memory(char* msg, size_t n) {
  snprintf(msg, n, "out of memory");
  return TFX_DELEGATE_MEMORY;
}

int32_t tfx_region_compile(const tfx_delegate_api* api, const int64_t* program, uint64_t nwords, const int64_t* constants, uint64_t nconstants,
                           tfx_delegate_region** region, char* msg, size_t n) {
  tfx_delegate_buffer* all = buffers(constants, nconstants);
  if (all == NULL) return no_memory(msg, n);
  tfx_delegate_error error = {msg, n};
  const int32_t code = api->compile(program, nwords, all, nconstants, region, &error);
  free(all);
  return code;
}

int32_t tfx_region_prepare(const tfx_delegate_api* api, tfx_delegate_region* region, const int64_t* inputs, uint64_t ninputs, int32_t threads,
                           tfx_delegate_class** shape, char* msg, size_t n) {
  tfx_delegate_buffer* all = buffers(inputs, ninputs);
  if (all == NULL) return no_memory(msg, n);
  tfx_delegate_error error = {msg, n};
  const int32_t code = api->prepare(region, all, ninputs, threads, shape, &error);
  free(all);
  return code;
}

int32_t tfx_region_run(const tfx_delegate_api* api, tfx_delegate_class* shape, const int64_t* inputs, const int64_t* outputs, void* scratch,
                       const int32_t* cancel, uint64_t* step_ns, char* msg, size_t n) {
  // an address is a word: on the platforms there are, a pointer has its bits
  tfx_delegate_run run = {(const void* const*)inputs, (void* const*)outputs, scratch, cancel, step_ns};
  tfx_delegate_error error = {msg, n};
  return api->run(shape, &run, &error);
}
