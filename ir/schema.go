package ir

// A Schema is the signature of a dispatcher operator, as PyTorch writes it:
//
//	aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
//
// A Schema that came from a [Catalogue] is shared and must not be changed.
type Schema struct {
	Op         string  // "aten::add.out"; no overload name where it is the default one
	Args       []Param // in order; keyword-only ones last
	Returns    []Param // in order
	VarArgs    bool    // the argument list ends in "..."
	VarReturns bool    // the return list ends in "..."
	Tags       Tags    // facts that are not in the text
}

// A Param is one argument or return of a Schema.
type Param struct {
	Name        string // "" for an unnamed return
	Type        Type
	Alias       *Alias // nil where nothing is shared or written
	Default     Arg    // nil where the argument is required; see [ParseSchema] for its kinds
	KeywordOnly bool
}

// An Alias says which memory an argument or return shares, and whether the
// operator writes it: Tensor(a!), Tensor(a -> *), Tensor(a!)[].
type Alias struct {
	Before []string // alias sets on entry; "*" is any, a name with "$" one of its own
	After  []string // alias sets on return, nil where they are those on entry
	Write  bool     // the operator writes it, or its items
	Elem   *Alias   // of the items, where the parameter is a list
}

// A TypeKind is the kind of a schema type.
type TypeKind uint8

// The kinds of schema types that occur in PyTorch's operators.
const (
	TypeTensor TypeKind = iota + 1
	TypeInt
	TypeSymInt
	TypeFloat
	TypeSymFloat
	TypeBool
	TypeSymBool
	TypeComplex
	TypeScalar
	TypeStr
	TypeDType
	TypeLayout
	TypeMemoryFormat
	TypeDevice
	TypeGenerator
	TypeStorage
	TypeStream
	TypeQScheme
	TypeDimname
	TypeAny
	TypeNone
	TypeOptional // Elem
	TypeList     // Elem, and Len where fixed
	TypeTuple    // Elems
	TypeDict     // Elems: key, value
	TypeFuture   // Elem
	TypeClass    // Name: __torch__.torch.classes.…
	TypeVar      // Name: t, t1
)

// A Type is a schema type.
type Type struct {
	Kind  TypeKind
	Elem  *Type  // of Optional, List, Future
	Elems []Type // of Tuple, Dict
	Len   int    // fixed length of a list, int[2]; 0 where there is none
	Name  string // of Class and Var
}

// Optional reports whether None is a value of t.
func (t Type) Optional() bool {
	return t.Kind == TypeOptional || t.Kind == TypeNone || t.Kind == TypeAny
}

// Required returns what t is when it is not None: the element of an optional
// type, t itself otherwise.
func (t Type) Required() Type {
	if t.Kind == TypeOptional {
		return *t.Elem
	}
	return t
}

// HasTensor reports whether a value of t may hold a tensor: Tensor, Tensor?,
// Tensor[], Any and the like.
func (t Type) HasTensor() bool {
	switch t.Kind {
	case TypeTensor, TypeAny, TypeVar:
		return true
	case TypeOptional, TypeList, TypeFuture:
		return t.Elem.HasTensor()
	}
	for _, e := range t.Elems {
		if e.HasTensor() {
			return true
		}
	}
	return false
}

// Namespace returns "aten" of "aten::add.out".
func (s *Schema) Namespace() string { ns, _, _ := splitOp(s.Op); return ns }

// Name returns "aten::add" of "aten::add.out".
func (s *Schema) Name() string {
	_, _, overload := splitOp(s.Op)
	if overload == "" {
		return s.Op
	}
	return s.Op[:len(s.Op)-len(overload)-1]
}

// Overload returns "out" of "aten::add.out", "" for the default overload.
func (s *Schema) Overload() string { _, _, overload := splitOp(s.Op); return overload }

// splitOp cuts "aten::add.out" into its three parts; a missing one is "".
func splitOp(op string) (namespace, name, overload string) {
	name = op
	for i := 0; i+1 < len(op); i++ {
		if op[i] == ':' && op[i+1] == ':' {
			namespace, name = op[:i], op[i+2:]
			break
		}
	}
	for i := range len(name) {
		if name[i] == '.' {
			return namespace, name[:i], name[i+1:]
		}
	}
	return namespace, name, ""
}

// Arg returns the position of the argument called name, the first of that name:
// static_runtime::clamp_nan_to_num has two posinf.
func (s *Schema) Arg(name string) (i int, ok bool) {
	for i := range s.Args {
		if s.Args[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// IsOut reports whether the operator writes its result into arguments given
// for that: it has a keyword-only argument that it writes.
func (s *Schema) IsOut() bool {
	for i := range s.Args {
		if s.Args[i].KeywordOnly && s.Args[i].Alias.writes() {
			return true
		}
	}
	return false
}

// Positional returns the number of arguments that may be given by position.
func (s *Schema) Positional() int {
	for i := range s.Args {
		if s.Args[i].KeywordOnly {
			return i
		}
	}
	return len(s.Args)
}

// writes reports whether the argument or any item of it is written.
func (a *Alias) writes() bool { return a != nil && (a.Write || a.Elem.writes()) }

// entry and exit return the alias sets of the argument and its items on entry
// and on return.
func (a *Alias) entry() []string {
	if a == nil {
		return nil
	}
	return append(a.Elem.entry(), a.Before...)
}

func (a *Alias) exit() []string {
	if a == nil {
		return nil
	}
	if a.After == nil {
		return append(a.Elem.exit(), a.Before...)
	}
	return append(a.Elem.exit(), a.After...)
}
