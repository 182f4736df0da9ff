package libtorch

// #include "trampoline.h"
import "C"

import "github.com/torchfx-go/torchfx/ir"

// A PlanProgram is a graph compiled to steps over numbered slots, which libtorch's
// side of the bridge runs without coming back: see [NewPlan]. Package interpreter
// makes them; nothing here knows of graphs.
type PlanProgram struct {
	Slots  int
	Inputs []int  // slots by whose shapes memory is planned
	Pinned []int  // slots whose memory is never planned
	Modes  []Mode // that Enter steps name
	Steps  []PlanStep

	// BelowAutograd runs operators without the layer that records gradients. It
	// is for runs that record none and for libtorch's own operators, where the
	// layer only passes calls on.
	BelowAutograd bool

	// Device is where the program runs, nil for where its tensors are. Its runs need a
	// mode with a stream on it; Inputs are then all slots that arguments are put into.
	Device *PlanDevice

	// Fusion does neighbouring pointwise steps together, block by block.
	Fusion PlanFusion
}

// A PlanDevice says how a program runs on a device.
type PlanDevice struct {
	Device      ir.Device
	HostResults bool // results are copied to the CPU
	Graphs      int  // how many shape classes a frame captures as graphs of the device
}

// A PlanFusion says which pointwise steps are done together.
type PlanFusion uint8

// Nothing, what is faster together, or all that can be, for tests.
const (
	PlanApart PlanFusion = iota
	PlanFuse
	PlanFuseAll
)

// A PlanStep is one step. What of its fields counts depends on Code.
type PlanStep struct {
	Code     PlanCode
	Plain    bool          // the layout of the results follows from that of the inputs
	Hides    bool          // a result may hold references to the arguments
	Tuples   bool          // lists of tensors among the results become tuples
	Writes   bool          // memory of an argument is written, of a slot's or of a constant's
	Fresh    bool          // no result shares memory with an argument, and none is written
	Number   PlanNumber    // of a Call, the arithmetic if both operands are numbers, 0 for none; the fact of a Size
	Target   int           // the step that Jump and Unless go to; the mode of Enter
	Results  []int         // slots
	Written  []int         // slots whose memory is written in place
	Slots    []int         // what Go and Done hand over
	Frees    []int         // slots to empty after the step
	Operands []PlanOperand // of Move, Unless, Size, Item, of a Call with a Number, and of a Delegate after its region
	Calls    []PlanCall    // of a Call: the first that takes its arguments is made
	Region   *Region       // of a Delegate
}

// A PlanCall is one operator with an operand for each argument of its schema.
type PlanCall struct {
	Op     *Operator
	Out    *Operator // the same operator into given tensors, nil for none
	Python bool      // arguments are matched as those of torch.add, not of torch.ops.aten.add.Tensor
	Args   []PlanOperand
}

// A PlanOperand is a constant, the value of a slot, or a list of operands.
type PlanOperand struct {
	Kind   PlanOperandKind
	Strict bool // no number in a tensor's place, no tensor in a number's
	Slot   int
	Const  any // as [Operator.Call] takes it
	Items  []PlanOperand
}

// A PlanOperandKind is a kind of operand.
type PlanOperandKind uint8

// The kinds of operands.
const (
	PlanConst PlanOperandKind = iota
	PlanSlot
	PlanList
)

// A PlanCode says what a step does.
type PlanCode uint32

// The codes.
const (
	PlanCallStep PlanCode = C.TFX_STEP_CALL
	PlanGo       PlanCode = C.TFX_STEP_GO
	PlanDone     PlanCode = C.TFX_STEP_DONE
	PlanMove     PlanCode = C.TFX_STEP_MOVE
	PlanJump     PlanCode = C.TFX_STEP_JUMP
	PlanUnless   PlanCode = C.TFX_STEP_UNLESS
	PlanSize     PlanCode = C.TFX_STEP_SIZE
	PlanItem     PlanCode = C.TFX_STEP_ITEM
	PlanEnter    PlanCode = C.TFX_STEP_ENTER
	PlanLeave    PlanCode = C.TFX_STEP_LEAVE
	PlanDelegate PlanCode = C.TFX_STEP_DELEGATE
)

// A PlanNumber is arithmetic on two numbers, or a fact about a tensor.
type PlanNumber uint32

// The arithmetic of a Call, which is Python's.
const (
	PlanAdd      PlanNumber = C.TFX_ADD
	PlanSub      PlanNumber = C.TFX_SUB
	PlanMul      PlanNumber = C.TFX_MUL
	PlanDiv      PlanNumber = C.TFX_DIV
	PlanFloorDiv PlanNumber = C.TFX_FLOORDIV
	PlanMod      PlanNumber = C.TFX_MOD
	PlanMax      PlanNumber = C.TFX_MAX
	PlanMin      PlanNumber = C.TFX_MIN
	PlanEq       PlanNumber = C.TFX_EQ
	PlanNe       PlanNumber = C.TFX_NE
	PlanLt       PlanNumber = C.TFX_LT
	PlanLe       PlanNumber = C.TFX_LE
	PlanGt       PlanNumber = C.TFX_GT
	PlanGe       PlanNumber = C.TFX_GE
)

// The facts of a Size.
const (
	PlanSizeOf   PlanNumber = C.TFX_SIZE   // of a dimension, the second operand
	PlanStrideOf PlanNumber = C.TFX_STRIDE // likewise
	PlanDims     PlanNumber = C.TFX_DIMS
	PlanNumel    PlanNumber = C.TFX_NUMEL
	PlanOffset   PlanNumber = C.TFX_OFFSET
	PlanShape    PlanNumber = C.TFX_SHAPE // a tuple
)
