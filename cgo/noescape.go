package libtorch

// The C functions here keep no pointer that they are given beyond their return
// (bridge/tfx.h promises it, and every one copies what it needs into libtorch's
// own objects), so their arguments may stay on the Go stack: noescape. None of
// them calls back into Go: the bridge has no pointer to a Go function, and
// storages that libtorch drops are queued for collection instead of reported. A
// custom operator library that calls into Go is the one way to break this; the
// Go runtime then ends the process with a message that says so: nocallback.

// #cgo noescape tfx_find
// #cgo nocallback tfx_find
// #cgo noescape tfx_list
// #cgo nocallback tfx_list
// #cgo nocallback tfx_has_kernel
// #cgo noescape tfx_call
// #cgo nocallback tfx_call
// #cgo noescape tfx_sequence
// #cgo nocallback tfx_sequence
// #cgo noescape tfx_prepare
// #cgo nocallback tfx_prepare
// #cgo noescape tfx_call_prepared
// #cgo nocallback tfx_call_prepared
// #cgo nocallback tfx_tensor_retain
// #cgo nocallback tfx_tensor_release
// #cgo noescape tfx_tensor_info
// #cgo nocallback tfx_tensor_info
// #cgo noescape tfx_tensor_new
// #cgo nocallback tfx_tensor_new
// #cgo noescape tfx_tensor_view
// #cgo nocallback tfx_tensor_view
// #cgo noescape tfx_tensor_bytes
// #cgo nocallback tfx_tensor_bytes
// #cgo noescape tfx_tensor_data
// #cgo nocallback tfx_tensor_data
// #cgo noescape tfx_wrapped_number
// #cgo nocallback tfx_wrapped_number
// #cgo noescape tfx_collect
// #cgo nocallback tfx_collect
// #cgo noescape tfx_add_batch_dim
// #cgo nocallback tfx_add_batch_dim
// #cgo noescape tfx_remove_batch_dim
// #cgo nocallback tfx_remove_batch_dim
// #cgo noescape tfx_plan_new
// #cgo nocallback tfx_plan_new
// #cgo nocallback tfx_plan_release
// #cgo noescape tfx_plan_layouts
// #cgo nocallback tfx_plan_layouts
// #cgo noescape tfx_frame_new
// #cgo nocallback tfx_frame_new
// #cgo nocallback tfx_frame_release
// #cgo nocallback tfx_frame_clear
// #cgo nocallback tfx_frame_stop
// #cgo noescape tfx_frame_run
// #cgo nocallback tfx_frame_run
// #cgo noescape tfx_frame_put
// #cgo nocallback tfx_frame_put
// #cgo noescape tfx_frame_values
// #cgo nocallback tfx_frame_values
// #include "trampoline.h"
import "C"
