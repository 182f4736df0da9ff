#define _GNU_SOURCE
#include "trampoline.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <link.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

const tfx_api* tfx_table = NULL;

const tfx_api* tfx_open(const char* path, char* msg, size_t n) {
  void* lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) {
    snprintf(msg, n, "%s", dlerror());
    return NULL;
  }
  tfx_get_api_fn get = (tfx_get_api_fn)dlsym(lib, "tfx_get_api");
  if (get == NULL) {
    snprintf(msg, n, "%s: not a bridge: no symbol tfx_get_api", path);
    return NULL;
  }
  return get();
}

void tfx_trim(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

static _Thread_local uintptr_t current_mode = 0;

uintptr_t tfx_within(uintptr_t mode) {
  uintptr_t outer = current_mode;
  current_mode = mode;
  return outer;
}

uintptr_t tfx_current(void) { return current_mode; }

void tfx_use(const tfx_api* table) { tfx_table = table; }

// images is the state of one walk over the loaded libraries.
typedef struct images {
  const char* name;
  char* buf;
  size_t n, used;
  int count;
} images;

static void add_image(images* im, const char* path) {
  const char* slash = strrchr(path, '/');
  const char* base = slash ? slash + 1 : path;
  size_t len = strlen(path);
  if (strcmp(base, im->name) != 0) return;
  im->count++;
  if (im->used + len + 2 > im->n) return;
  memcpy(im->buf + im->used, path, len);
  im->used += len;
  im->buf[im->used++] = '\n';
  im->buf[im->used] = 0;
}

#ifdef __APPLE__
int tfx_find_images(const char* name, char* buf, size_t n) {
  images im = {name, buf, n, 0, 0};
  for (uint32_t i = 0; i < _dyld_image_count(); i++) add_image(&im, _dyld_get_image_name(i));
  return im.count;
}
#else
static int visit(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  if (info->dlpi_name != NULL) add_image((images*)data, info->dlpi_name);
  return 0;
}

int tfx_find_images(const char* name, char* buf, size_t n) {
  images im = {name, buf, n, 0, 0};
  dl_iterate_phdr(visit, &im);
  return im.count;
}
#endif

int tfx_cuda_driver(int* code) {
  int count = 0;
  *code = 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) return -1;
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*devices)(int*) = (int (*)(int*))dlsym(driver, "cuDeviceGetCount");
  if (init == NULL || devices == NULL) return -1;
  *code = init(0);
  if (*code == 0) *code = devices(&count);
  return *code == 0 ? count : -2;
}
