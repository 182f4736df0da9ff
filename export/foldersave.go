package export

import (
	"bytes"
	"encoding/binary"
	"io"
	"iter"
	"math"
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
)

// WriteState writes a state dict as torch.save does, so that torch.load gives an
// OrderedDict of these tensors, in order; tensors of one storage share it there,
// too. As in Python's state_dict, parameters are plain tensors. Storages, whose
// bytes are little-endian, are written whole.
func WriteState(w io.Writer, tensors iter.Seq2[string, *Tensor]) error {
	p := &stateWriter{storages: map[*Storage]int{}}
	if err := p.pickle(tensors); err != nil {
		return err
	}
	for _, s := range p.order {
		if data, _ := s.peek(); data == nil && s.Len() > 0 {
			return ir.Errorf(ir.ErrClosed, "write state: the file of a storage was closed")
		}
	}
	z := newZipWriter(w, "archive/")
	z.add("data.pkl", p.out.Bytes())
	z.add(".format_version", []byte("1"))
	z.add(".storage_alignment", []byte("64"))
	z.add("byteorder", []byte("little"))
	for i, s := range p.order {
		data, mapped := s.peek()
		if z.add("data/"+strconv.Itoa(i), data); mapped {
			pageOut(data)
		}
	}
	z.add("version", []byte("3\n"))
	return z.close()
}

// A stateWriter writes the pickle of a state dict, in protocol 2.
type stateWriter struct {
	out      bytes.Buffer
	storages map[*Storage]int
	order    []*Storage
}

func (p *stateWriter) pickle(tensors iter.Seq2[string, *Tensor]) error {
	p.out.WriteString("\x80\x02")
	p.global("collections", "OrderedDict")
	p.out.WriteString(")R(")
	for name, t := range tensors {
		p.text(name)
		if err := p.tensor(t); err != nil {
			return ir.Errorf(ir.ErrUnsupported, "write state %s: %w", name, err)
		}
	}
	p.out.WriteString("u.")
	return nil
}

func (p *stateWriter) global(module, name string) {
	p.out.WriteString("c" + module + "\n" + name + "\n")
}

func (p *stateWriter) text(s string) {
	p.out.WriteByte('X')
	p.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	p.out.WriteString(s)
}

func (p *stateWriter) int(n int64) {
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		p.out.WriteByte('J')
		p.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
		return
	}
	p.out.WriteString("\x8a\x08")
	p.out.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func (p *stateWriter) ints(values []int64) {
	p.out.WriteByte('(')
	for _, n := range values {
		p.int(n)
	}
	p.out.WriteByte('t')
}

// tensor writes the call that builds t on its storage. A dtype without a storage
// class of its own lies in an untyped storage.
func (p *stateWriter) tensor(t *Tensor) error {
	if t == nil || t.Storage == nil {
		return ir.Errorf(ir.ErrValue, "expected a tensor with a storage, got one without")
	}
	i, seen := p.storages[t.Storage]
	if !seen {
		i = len(p.order)
		p.storages[t.Storage] = i
		p.order = append(p.order, t.Storage)
	}
	class, typed := storageClasses[t.DType]
	numel := int64(t.Storage.Len())
	if typed {
		p.global("torch._utils", "_rebuild_tensor_v2")
		numel /= int64(t.DType.Size())
	} else {
		p.global("torch._utils", "_rebuild_tensor_v3")
	}
	p.out.WriteString("((")
	p.text("storage")
	if typed {
		p.global("torch", class)
	} else {
		p.global("torch.storage", "UntypedStorage")
	}
	p.text(strconv.Itoa(i))
	p.text("cpu")
	p.int(numel)
	p.out.WriteString("tQ")
	p.int(t.Offset)
	p.ints(t.Sizes)
	p.ints(t.Strides)
	p.out.WriteByte(0x89) // requires_grad: False
	p.global("collections", "OrderedDict")
	p.out.WriteString(")R")
	if !typed {
		p.global("torch", t.DType.Name())
	}
	p.out.WriteString("tR")
	return nil
}
