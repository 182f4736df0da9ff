package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/internal/setup"
)

func newDoctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say which libtorch is used and whether it works",
		Long: `Doctor loads what "torchfx setup" made, runs one operator and reports versions,
places, the processor's capability, BLAS, oneDNN, threads and CUDA. It changes
nothing. The exit code is 1 when something keeps programs from running; each
problem comes with a command that mends it.`,
		Example: `  torchfx doctor
  torchfx doctor --json | jq .libtorch.cuda_why`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := setup.Diagnose(cmd.Context(), setup.Options{})
			print := func() error { return printDiagnosis(cmd.OutOrStdout(), d) }
			if asJSON {
				print = func() error { return printJSON(cmd, d) }
			}
			if err := print(); err != nil {
				return err
			}
			if !d.OK {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func printDiagnosis(w io.Writer, d *setup.Diagnosis) error {
	platform := d.Platform
	if d.Tested {
		platform += " (tested)"
	}
	rows := [][2]string{{"torchfx", version()}, {"platform", platform}, {"home", d.Home}}
	if rec := d.Record; rec != nil {
		rows = append(rows,
			[2]string{"libtorch", rec.TorchVersion + ", " + describeSource(rec)},
			[2]string{"bridge", fmt.Sprintf("function table %d, by %s, %s", rec.BridgeABI, rec.Compiler, rec.Bridge)})
	}
	if f := d.Facts; f != nil {
		rows = append(rows,
			[2]string{"loaded", fmt.Sprintf("libtorch %s, bridge %s, first operator after %.2f s", f.Torch, f.Bridge, d.LoadSeconds)},
			[2]string{"cpu", f.CPU},
			[2]string{"blas", f.BLAS},
			[2]string{"onednn", f.OneDNN},
			[2]string{"delegate", d.Delegate},
			[2]string{"threads", fmt.Sprintf("%d per operator", f.Threads)},
			[2]string{"cuda", f.CUDAText()})
	}
	if err := printTable(w, rows); err != nil {
		return err
	}
	for _, note := range d.Notes {
		fmt.Fprintf(w, "\nnote: %s\n", note)
	}
	for _, p := range d.Problems {
		fmt.Fprintf(w, "\nproblem: %s\n", p.What)
		for i, fix := range p.Fix {
			fmt.Fprintf(w, "  %s: %s\n", []string{"fix", " or"}[min(i, 1)], fix)
		}
	}
	if d.OK {
		fmt.Fprintln(w, "\nAll is well.")
	}
	return nil
}
