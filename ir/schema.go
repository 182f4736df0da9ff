package ir

// A Schema is the signature of a dispatcher operator, as PyTorch writes it:
//
//	aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
type Schema struct {
	Op         string  // "aten::add.out"; no overload name where it is the default one
	Args       []Param // in order
	Returns    []Param // in order
	VarArgs    bool    // the argument list ends in "..."
	VarReturns bool    // the return list ends in "..."
	Tags       Tags    // facts that are not in the text
	text       string
}

// A Param is one argument or return of a Schema.
type Param struct {
	Name        string // "" for an unnamed return
	Type        Type
	Alias       *Alias // nil where nothing is shared or written
	Default     Arg    // nil where the argument is required
	KeywordOnly bool
}

// An Alias says which memory an argument or return shares, and whether the
// operator writes it: Tensor(a!), Tensor(a -> *).
type Alias struct {
	Before []string // alias sets on entry; "*" is any
	After  []string // alias sets on return, where they differ
	Write  bool
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

// Tags are the facts about an operator that its schema text does not hold; see
// [ParseTags].
type Tags uint32
