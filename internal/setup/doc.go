// Package setup makes a machine ready to run programs: it finds or downloads
// libtorch, compiles the bridge to it, loads both and writes the record that
// package libtorch opens. The commands setup and doctor are this package with
// output.
//
// [Run] looks for libtorch in this order and takes the first that serves:
//
//	LIBTORCH            a folder with lib and include; refused loudly when unfit
//	python3, python     a torch of the pinned version that the interpreter imports
//	the official wheel  fetched by pip, by version and SHA-256, unpacked in part
//
// Everything lands below one home folder (package install says where). A step
// that is done leaves a mark and is not done again: a wheel that is whole and
// has its hash, a component whose files all have their sizes, a bridge whose key
// (sources, libtorch, compiler) is current. So an interrupted set-up goes on
// where it stopped, except that a wheel cut in the middle is fetched anew, and a
// second set-up does nothing. Files are written aside and renamed, and a lock on
// the home keeps two set-ups apart; a process that uses the home while a set-up
// runs sees either the old record or the new one.
//
// Where oneDNN is published for the platform, Run fetches it too, compiles the
// delegate on it and tries that. It makes some models faster and nothing possible: what
// goes wrong with it is a line of the record, and no failure.
//
// Every failure is a [Failure]: what is missing, and the command that mends it.
package setup
