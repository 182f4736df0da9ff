// Command torchfx sets up libtorch and works with saved PyTorch programs: it
// checks them, shows their graphs, runs them, writes them in other formats and
// compares what they compute with what PyTorch recorded.
//
//	torchfx setup                 find or download libtorch, compile the bridge
//	torchfx doctor                say what was found, and what to do about it
//	torchfx inspect PATH          say what a file or folder is, and what is in it
//	torchfx check FILE...         say whether programs are whole, and what they are
//	torchfx graph FILE            show the graph: Python code, torch.fx's texts, JSON
//	torchfx run MODEL             call it on inputs from files, write what it returns
//	torchfx convert IN OUT        write a program or tensors in another format
//	torchfx parity PATH...        replay recorded cases, compare with PyTorch's results
//	torchfx help [COMMAND]        flags and examples of every command
//
// Exit codes: 0 when the command did what it was asked, 1 when it could not or
// when the answer is no (a model refused, a case that differs, a broken
// installation), 2 when the command line was not understood.
//
// Results go to standard output, everything else to standard error. A file name
// of "-" is standard input or output.
//
// Each subcommand is one file holding func newXCommand() *cobra.Command, listed
// in [commands]. Its RunE returns an error and never exits or prints it: main
// prints it once and picks the exit code.
package main
