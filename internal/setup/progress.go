package setup

// A Reporter shows what a set-up does while it does it. Its methods are called
// from one goroutine at a time.
type Reporter interface {
	// Say shows one line.
	Say(line string)
	// Begin shows the start of a task that takes seconds or more. total is its
	// size in bytes, or 0 where only the passing of time can be shown.
	Begin(what string, total int64) Task
}

// A Task is a piece of work on show.
type Task interface {
	// At says how many bytes are done.
	At(done int64)
	// End takes the task off the screen. It is called once, also on failure.
	End()
}

// silent shows nothing.
type silent struct{}

func (silent) Say(string)               {}
func (silent) Begin(string, int64) Task { return silent{} }
func (silent) At(int64)                 {}
func (silent) End()                     {}
