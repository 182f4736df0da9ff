package nn_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/internal/layers"
)

// A recordedTable is a table of strings among the cases of torch.fx.
type recordedTable struct {
	Value struct{ Rows [][]any }
	Rows  [][]any
}

func readTable(t *testing.T, name string) [][]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Fixtures(t, "fx"), name, "result.json"))
	require.NoError(t, err)
	var table recordedTable
	require.NoError(t, json.Unmarshal(text, &table))
	return append(table.Rows, table.Value.Rows...)
}

// absent are the classes of torch.nn that are not here, with the reason.
var absent = map[string]string{
	"Container": "deprecated upstream, and empty", "Module": "the interface Module", "DataParallel": "one process, one device",
	"SyncBatchNorm": "needs a process group", "CrossMapLRN2d": "an autograd function, replaced by LocalResponseNorm upstream",
	"RNNBase": "an abstract class", "RNNCellBase": "an abstract class", "NLLLoss2d": "deprecated name of NLLLoss",
}

// Every class of torch.nn is here, with a recorded case, or has a reason not to be;
// constructors have Python's parameters and defaults, and layers are leaves where
// Python's are.
func TestClassesAreThoseOfTorch(t *testing.T) {
	recorded := map[string]bool{"Sequential": true, "ModuleList": true, "ModuleDict": true, "ParameterList": true, "ParameterDict": true} // see TestReprOfContainers
	for _, c := range readRecorded(t).Cases {
		recorded[className(c.Class)] = true
	}
	byName := map[string]*layers.Class{}
	for _, c := range layers.Table() {
		byName[c.Name] = c
	}
	for _, row := range readTable(t, "t_leaf_modules") {
		name, module, constructor := row[0].(string), row[1].(string), row[3].(string)
		if absent[name] != "" || strings.HasPrefix(name, "Lazy") {
			continue // lazy ones take their sizes from the first input, which Go's types have no place for
		}
		assert.True(t, recorded[name], "%s: expected a recorded case", name)
		c := byName[name]
		if c == nil {
			m, err := nn.FromRepr(name, name+"()")
			require.NoError(t, err, name)
			assert.Equal(t, module+"."+name, nn.ClassName(m))
			continue
		}
		assert.Equal(t, module, c.Module, name)
		if strings.HasPrefix(constructor, "(*args, **kwargs)") {
			continue // the recurrent layers, whose parameters Python hides
		}
		for _, p := range c.Params {
			pattern := `[(, ]` + p.Name + `(: [^=]*?)?(, [a-z_*]|\))`
			if p.Default != nil {
				value := regexp.QuoteMeta(ir.Repr(p.Default))
				if p.Name == "activation" {
					value = `<function relu at 0x0+>`
				}
				pattern = `[(, ]` + p.Name + `(: .*?)? ?= ?` + value + `[,)]`
			}
			assert.Regexp(t, pattern, constructor, "%s: %s", name, p.Name)
		}
	}
}

// What a trace records of a function is what torch.fx records.
func TestFormsAreThoseOfTorch(t *testing.T) {
	text, err := os.ReadFile("../torchops/composed.txt")
	require.NoError(t, err)
	have := map[string]string{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(columns) == 6 && columns[3]+columns[4] != "" {
			have[strings.Fields(columns[0])[0]] = columns[3] + "; " + columns[4]
		}
	}
	seen := map[string]bool{}
	for _, row := range readTable(t, "t_functional_forms") {
		var args, kw []string
		for _, a := range row[3].([]any) {
			args = append(args, a.(string))
		}
		for _, pair := range row[4].([]any) {
			kw = append(kw, pair.([]any)[0].(string))
		}
		name := row[0].(string)
		target := name[:strings.LastIndexByte(name, '.')+1] + row[2].(string)[strings.LastIndexByte(row[2].(string), '.')+1:]
		assert.Equal(t, strings.Join(args, ", ")+"; "+strings.Join(kw, ", "), have[target], target)
		seen[target] = true
	}
	for target := range have {
		if strings.HasPrefix(target, "torch.nn.functional.") || strings.HasPrefix(target, "torch.functional.") {
			assert.True(t, seen[target], target)
		}
	}
}
