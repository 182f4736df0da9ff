package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// commands makes the subcommands, in the order in which help lists them.
var commands = []func() *cobra.Command{
	newSetupCommand,
	newDoctorCommand,
	newInspectCommand,
	newCheckCommand,
	newGraphCommand,
	newRunCommand,
	newConvertCommand,
	newParityCommand,
}

// newRootCommand builds the whole tree anew, so that tests run command lines
// without sharing state.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "torchfx",
		Short: "torch.fx for Go: check, show, rewrite and run saved PyTorch programs",
		Long: `torchfx reads programs that torch.export saved, shows and checks their graphs,
and runs them on libtorch without Python.

Start with "torchfx setup": it finds or downloads libtorch and compiles the
bridge to it. Exit codes: 0 done, 1 failed or the answer is no, 2 the command
line was not understood.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("torchfx {{.Version}}\n")
	root.PersistentFlags().BoolP("quiet", "q", false, "no progress on standard error")
	cobra.EnableCommandSorting = false
	for _, make := range commands {
		cmd := make()
		markFailures(cmd)
		root.AddCommand(cmd)
	}
	return root
}

// markFailures wraps what the commands return, so that main can tell a command
// that failed from a command line that was never understood.
func markFailures(cmd *cobra.Command) {
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := inner(cmd, args); err != nil {
				return &failedError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markFailures(sub)
	}
}

// version is the module version the binary was built from, or the revision of
// the checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel " + s.Value[:12]
		}
	}
	return "devel"
}
