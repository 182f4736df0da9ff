package export

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// runFolder imports the folder `saved`, runs its module on recorded inputs, and
// compares with the recorded result.
const runFolder = `
import json, sys, torch, safetensors.torch as st
sys.path.insert(0, ".")
case, name = sys.argv[1:]
import saved
module = getattr(saved, name)()
module.eval()
io = json.load(open(case + "/io.json"))
inputs, expected = st.load_file(case + "/inputs.safetensors"), st.load_file(case + "/expected.safetensors")
def value(v, tensors):
    if not isinstance(v, dict):
        return v
    (tag, x), = v.items()
    if tag == "tensor": return tensors[x]
    if tag == "int": return int(x)
    if tag == "list": return [value(i, tensors) for i in x]
    if tag == "tuple": return tuple(value(i, tensors) for i in x)
    if tag == "dict": return {value(k, tensors): value(i, tensors) for k, i in x}
    if tag == "str": return x
    raise SystemExit(f"unknown value {v}")
out = module(*[value(v, inputs) for v in io["inputs"]])
torch.testing.assert_close(out, value(io["output"], expected))
state = st.load_file(case + "/folder/state_dict.safetensors")
assert set(module.state_dict()) == set(state), (set(module.state_dict()), set(state))
for k, v in module.state_dict().items():
    assert torch.equal(v, state[k]), k
`

// TestFolderInPython has PyTorch import and run the folders that ToFolder wrote.
// TORCHFX_PYTHON names a Python that has torch and safetensors.
func TestFolderInPython(t *testing.T) {
	python := testenv.Python(t)
	for _, dir := range savedFolders(t) {
		name := filepath.Base(filepath.Dir(dir))
		t.Run(name, func(t *testing.T) {
			folder, err := filepath.Abs(dir)
			require.NoError(t, err)
			f, err := LoadFolder(folder)
			require.NoError(t, err)
			defer f.Close()
			t.Chdir(t.TempDir())
			require.NoError(t, ToFolder(f.Module, "saved", "Again"))
			script := runFolder
			if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "io.json")); err != nil {
				script = "import sys; sys.path.insert(0, '.'); import saved; saved.Again()"
			} else if name == "concrete_module_retrace" {
				// no specs are in what Python wrote, so the module cannot run
				script = "import sys; sys.path.insert(0, '.'); import saved; saved.Again()"
			}
			out, err := exec.Command(python, "-c", script, filepath.Dir(folder), "Again").CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
