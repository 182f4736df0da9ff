package libtorch

// #include <stdlib.h>
// #ifdef __GLIBC__
// #include <malloc.h>
// static void trim(void) { malloc_trim(0); }
// #else
// static void trim(void) {}
// #endif
import "C"

// TrimMemory gives memory that libtorch's tensors have left in C's heap back to the
// system, for after work that took more than what follows will. It takes milliseconds,
// and does nothing where the C library has no such call.
func TrimMemory() { C.trim() }
