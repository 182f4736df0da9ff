// The bridge: one library between a C function table and libtorch's dispatcher.
//
// It is one translation unit on purpose, but for lanes.cc, which needs few headers.
// Parsing the dispatcher's is nearly all of the compile time, and each further unit
// would pay it again.
#include <torch/headeronly/version.h>

#include "allocate.h"
#include "aoti.h"
#include "delegated.h"
#include "device.h"
#include "error.h"
#include "meta.h"
#include "mode.h"
#include "older.h"
#include "operator.h"
#include "planentry.h"
#include "prepared.h"
#include "process.h"
#include "record.h"
#include "script.h"
#include "scriptgraph.h"
#include "sequence.h"
#include "tensor.h"
#include "tfx.h"
#include "value.h"

namespace {

void release_words(uint64_t heap) noexcept { std::free(reinterpret_cast<void*>(heap)); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const tfx_api* tfx_get_api(void) {
  // kernels use one thread unless a call says otherwise, see mode.h
  at::set_num_threads(1);
  tfx::Allocator::install();
  tfx::add_facts();
  tfx::meta::Table::get();
  static const tfx_api api = {
      .abi = TFX_ABI,
      .size = sizeof(tfx_api),
      .bridge_version = TFX_BRIDGE_VERSION,
      .torch_compiled = TORCH_VERSION,
      .torch_running = tfx::torch_running,
      .released = tfx::Graveyard::get().waiting(),
      .free = release_words,
      .find = tfx::find,
      .list = tfx::list,
      .has_kernel = tfx::has_kernel,
      .call = tfx::call,
      .sequence = tfx::sequence,
      .prepare = tfx::prepare,
      .call_prepared = tfx::call_prepared,
      .open_library = tfx::open_library,
      .tensor_retain = tfx::tensor_retain,
      .tensor_release = tfx::tensor_release,
      .tensor_info = tfx::tensor_info,
      .tensor_new = tfx::tensor_new,
      .tensor_from_memory = tfx::tensor_from_memory,
      .tensor_view = tfx::tensor_view,
      .tensor_bytes = tfx::tensor_bytes,
      .tensor_data = tfx::tensor_data,
      .wrapped_number = tfx::wrapped_number,
      .is_alias = tfx::is_alias,
      .collect = tfx::collect,
      .add_batch_dim = tfx::add_batch_dim,
      .remove_batch_dim = tfx::remove_batch_dim,
      .record_start = tfx::record_start,
      .record_stop = tfx::record_stop,
      .functional_wrap = tfx::functional_wrap,
      .functional_unwrap = tfx::functional_unwrap,
      .recording = tfx::recording,
      .script_load = tfx::script_load,
      .script_methods = tfx::script_methods,
      .script_state = tfx::script_state,
      .script_attribute = tfx::script_attribute,
      .script_graph = tfx::script_graph,
      .script_train = tfx::script_train,
      .script_call = tfx::script_call,
      .aoti_load = tfx::aoti_load,
      .aoti_metadata = tfx::aoti_metadata,
      .aoti_spec = tfx::aoti_spec,
      .aoti_run = tfx::aoti_run,
      .region_new = tfx::region_new,
      .region_run = tfx::region_run,
      .generator_new = tfx::generator_new,
      .generator_seed = tfx::generator_seed,
      .generator_get_seed = tfx::generator_get_seed,
      .generator_state = tfx::generator_state,
      .generator_set_state = tfx::generator_set_state,
      .generator_release = tfx::generator_release,
      .object_release = tfx::object_release,
      .open_cuda = tfx::open_cuda,
      .open_graphs = tfx::open_graphs,
      .device_count = tfx::device_count,
      .stream_new = tfx::stream_new,
      .device_synchronize = tfx::device_synchronize,
      .device_memory = tfx::device_memory,
      .info = tfx::info,
      .warnings = tfx::drain_warnings,
      .set_deterministic = tfx::set_deterministic,
      .trim = tfx::trim,
      .allocate_lasting = tfx::allocate_lasting,
      .plan_new = tfx::plan_new,
      .plan_release = tfx::plan_release,
      .plan_layouts = tfx::plan_layouts,
      .frame_new = tfx::frame_new,
      .frame_release = tfx::frame_release,
      .frame_clear = tfx::frame_clear,
      .frame_stop = tfx::frame_stop,
      .frame_run = tfx::frame_run,
      .frame_put = tfx::frame_put,
      .frame_values = tfx::frame_values,
      .frame_graphs = tfx::frame_graphs,
  };
  return &api;
}
