// Package devicetest finds the device that tests of devices run on: the first GPU
// where there is one, and otherwise a stand-in, a device of host memory and the CPU's
// kernels that is as strict about streams, pinned memory and graphs as a GPU is
// (testdata/standin.cc). The stand-in becomes the process's accelerator; a package
// whose other tests should not see that runs its own in another process, by [Apart].
package devicetest
