package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/internal/setup"
)

func newSetupCommand() *cobra.Command {
	var o setup.Options
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Find or download libtorch and compile the bridge to it",
		Long: `Setup makes this machine ready to run programs. It takes the first libtorch of

  LIBTORCH          a folder with lib and include
  python3, python   a torch ` + setup.TorchVersion + ` that the interpreter on PATH imports
  the official wheel of torch ` + setup.TorchVersion + `, fetched by pip and checked by its hash;
                    only what is needed is unpacked (0.55 GB to download)

compiles the bridge to it with a C++20 compiler (CXX, else g++, clang++, c++),
loads both and runs one operator. On linux/amd64 it also fetches oneDNN by pip (39 MB)
and compiles the delegate, which runs regions of convolutions and linear layers faster than
libtorch does; where that fails, it says so and libtorch runs everything.

What is there already is not done again, so it
may be called at any time. Everything lands in TORCHFX_HOME, which is
third_party beside the command in a checkout and a folder of the user's cache
elsewhere.

linux/amd64 is tested; linux/arm64 and macOS on arm64 take the same route and
are not.`,
		Example: `  torchfx setup                           # for the CPU
  torchfx setup --cuda                    # and for NVIDIA GPUs: 2.8 GB more
  LIBTORCH=/opt/libtorch torchfx setup    # a libtorch of your own
  CXX=clang++ torchfx setup               # a compiler of your own`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Report = newReporter(cmd)
			r, err := setup.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			return printSetup(cmd.OutOrStdout(), r)
		},
	}
	cmd.Flags().BoolVar(&o.CUDA, "cuda", false, "also fetch what programs on NVIDIA GPUs need")
	cmd.Flags().BoolVar(&o.NoDelegate, "no-delegate", false, "leave out the delegate on oneDNN: libtorch runs everything")
	cmd.Flags().BoolVar(&o.Download, "download", false, "use the official wheel, whatever LIBTORCH and Python offer")
	return cmd
}

func printSetup(w io.Writer, r *setup.Result) error {
	if r.Changed {
		fmt.Fprintln(w, "torchfx is set up:")
	} else {
		fmt.Fprintln(w, "torchfx is set up; nothing to do:")
	}
	rec, facts := r.Record, r.Record.Extra
	return printTable(w, [][2]string{
		{"  home", r.Home},
		{"  libtorch", facts["torch"] + ", " + describeSource(rec)},
		{"  bridge", facts["bridge"] + ", " + rec.Bridge},
		{"  cpu", facts["cpu"]},
		{"  blas", facts["blas"]},
		{"  onednn", facts["onednn"]},
		{"  delegate", facts["delegate"]},
		{"  cuda", facts["cuda"]},
	})
}

// describeSource says where a libtorch came from and lies.
func describeSource(rec *install.Record) string {
	switch rec.Source {
	case install.Given:
		return "given by LIBTORCH, " + rec.TorchDir
	case install.Python:
		return "of a Python installation, " + rec.TorchDir
	}
	return "from the official wheel, " + rec.TorchDir
}

// printTable writes names and values in two columns, without empty values.
func printTable(w io.Writer, rows [][2]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(t, "%s\t%s\n", row[0], row[1])
		}
	}
	return t.Flush()
}
