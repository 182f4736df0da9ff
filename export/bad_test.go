package export

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// TestBadFiles opens every broken and hostile file and looks for what its
// description says the message must tell.
func TestBadFiles(t *testing.T) {
	dir := fixtures(t, "pt2-bad")
	tests := map[string]struct {
		class *ir.Class
		says  []string
	}{
		"aoti_only":               {ir.ErrFormat, []string{"only compiled AOTInductor parts", "no graph in this archive"}},
		"archive_version_7":       {ir.ErrVersion, []string{"archive_version 7 is not supported (0 is)"}},
		"broken_json":             {ir.ErrFormat, []string{"models/model.json: not valid JSON: line 1 column 3103 (byte 3102)"}},
		"duplicate_value":         {ir.ErrFormat, []string{"value linear defined twice"}},
		"empty_file":              {ir.ErrFormat, []string{"empty file"}},
		"future_minor":            {nil, []string{"schema version 8.99 is newer than 8.20", "unknown field"}},
		"g1_torch21":              {ir.ErrVersion, []string{"produced by torch 2.1 or older", `version record "1"`, "unsupported program format"}},
		"giant_declared_size":     {ir.ErrFormat, []string{"record data/weights/weight_0: declares 4294967280 bytes, more than the file has"}},
		"hostile_expressions":     {nil, []string{"is not understood and is not evaluated", "is not understood and not checked"}},
		"malicious_sample_inputs": {nil, nil},
		"missing_model_json":      {ir.ErrFormat, []string{"record missing: models/model.json", "the archive holds no exported program"}},
		"missing_weight":          {ir.ErrFormat, []string{"weight l.weight is in the signature but not in the weights config"}},
		"missing_weights_config":  {ir.ErrFormat, []string{"weights config record missing: data/weights/model_weights_config.json"}},
		"negative_offset":         {ir.ErrFormat, []string{"l.bias: negative storage offset: -4"}},
		"not_a_zip":               {ir.ErrFormat, []string{"not a zip archive: looks like a Python pickle"}},
		"odd_payload_size":        {ir.ErrFormat, []string{"record data/weights/weight_0: size 25 is not a multiple of the element size 4"}},
		"schema_major_9":          {ir.ErrVersion, []string{"schema version 9 is not supported (8 is)"}},
		"signature_mismatch":      {ir.ErrFormat, []string{"signature and graph disagree: 3 inputs, 2 input specs"}},
		"torch_save_renamed":      {ir.ErrFormat, []string{"this is a torch.save file", "not an exported program"}},
		"torchscript_renamed":     {ir.ErrFormat, []string{"this is a TorchScript archive", "not an exported program"}},
		"truncated_zip":           {ir.ErrFormat, []string{"truncated zip archive: no end of central directory"}},
		"unknown_op":              {ir.ErrUnsupported, []string{"node linear: unknown operator aten::lineaar.default", "aten::linear"}},
		"unknown_union_tag":       {ir.ErrUnsupported, []string{"node linear, argument weight: unknown argument kind as_quaternion"}},
		"use_before_definition":   {ir.ErrFormat, []string{"node relu_first: uses linear before it is defined"}},
		"wrong_crc":               {ir.ErrFormat, []string{"record data/weights/weight_0: checksum is wrong"}},
		"zero_crc":                {nil, []string{"all checksums are zero"}},
		"zip_slip":                {ir.ErrFormat, []string{`"../../evil.txt": has .. in it`, `"/etc/evil": is an absolute path`}},
	}
	names := cases(t, dir)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			want, known := tests[name]
			require.True(t, known, "a case without an expectation")
			var meta struct{ Must string }
			readJSON(t, filepath.Join(dir, name, "meta.json"), &meta)
			assert.Equal(t, meta.Must == "load", want.class == nil, "meta.json says %s", meta.Must)

			var p *Program
			var err error
			atMost(t, func() { p, err = Open(filepath.Join(dir, name, "model.pt2")) })

			if want.class != nil {
				require.ErrorIs(t, err, want.class)
				for _, text := range want.says {
					assert.ErrorContains(t, err, text)
				}
				if name != "zip_slip" {
					assert.NotContains(t, err.Error(), "\n", "one fault, one message")
				}
				return
			}
			require.NoError(t, err)
			defer p.Close()
			for _, text := range want.says {
				assert.Condition(t, func() bool { return anyContains(p.Warnings, text) }, "%q in %q", text, p.Warnings)
			}
			_, err = p.Module()
			require.NoError(t, err)
		})
	}
	assert.Len(t, names, len(tests))
}

func TestWrongChecksumIsTheCallersChoice(t *testing.T) {
	file := filepath.Join(fixtures(t, "pt2-bad"), "wrong_crc", "model.pt2")
	p, err := Open(file, SkipChecksums())
	require.NoError(t, err)
	require.NoError(t, p.Close())
}
