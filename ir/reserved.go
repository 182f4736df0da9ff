package ir

import "strings"

// illegalName reports whether a node may not have name: Python's keywords and
// builtins, and the names that every generated module holds.
func illegalName(name string) bool {
	if c := name[len(name)-1]; c >= '0' && c <= '9' {
		return false // as most names in a large graph are, and no reserved one is
	}
	_, bad := reserved[name]
	return bad
}

// Source: torch.fx.graph._illegal_names of 2.15.0 under Python 3.11.
var reserved = func() map[string]struct{} {
	set := map[string]struct{}{}
	for _, name := range strings.Fields(reservedNames) {
		set[name] = struct{}{}
	}
	return set
}()

// IsKeyword reports whether name is a keyword of Python, which names nothing else.
func IsKeyword(name string) bool { return pythonKeywords[name] }

// pythonKeywords are the names that no attribute read may spell.
var pythonKeywords = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(`False None True and as assert async await break class continue def del elif else
except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`) {
		set[name] = true
	}
	return set
}()

const reservedNames = `
ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError
BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError
ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError
Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup False FileExistsError
FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError
ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError
KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NoneType
NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError
ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError
SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError UnboundLocalError
UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning
UserWarning ValueError Warning ZeroDivisionError __build_class__ __debug__ __doc__ __import__
__loader__ __name__ __package__ __spec__ abs aiter all and anext any as ascii assert async
await bin bool break breakpoint bytearray bytes callable chr class classmethod compile complex
continue copyright credits def del delattr device dict dir divmod elif else enumerate eval
except exec exit filter finally float for format from frozenset fx_pytree getattr global
globals hasattr hash help hex id if import in inf input int is isinstance issubclass iter
lambda len license list locals map max memoryview min nan next nonlocal not object oct open or
ord pass pow print property pytree quit raise range repr return reversed round set setattr
slice sorted staticmethod str sum super torch try tuple type vars while with yield zip`
