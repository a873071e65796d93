package change

import "encoding/binary"

// AppendRef appends a ref as the journal and the kept copies store it. Frozen: a byte for the kind, then
// project, session, message and part, each as uvarint length and bytes.
func AppendRef(b []byte, r Ref) []byte {
	b = append(b, byte(r.Kind))
	for _, s := range [...]string{r.Project, r.Session, r.Message, r.Part} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// A Decoder reads values from untrusted bytes. Failed is set if bytes are missing or wrong; later reads
// return zero.
type Decoder struct {
	Rest   []byte
	Failed bool
	last   Ref // the previous ref, whose ids the next one shares if they are equal
}

// Bytes reads n bytes.
func (d *Decoder) Bytes(n uint64) []byte {
	if n > uint64(len(d.Rest)) {
		d.Failed, d.Rest = true, nil
		return nil
	}
	b := d.Rest[:n:n]
	d.Rest = d.Rest[n:]
	return b
}

// Byte reads a byte.
func (d *Decoder) Byte() byte {
	if b := d.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Uvarint reads a number.
func (d *Decoder) Uvarint() uint64 {
	v, n := binary.Uvarint(d.Rest)
	if n <= 0 {
		d.Failed, d.Rest = true, nil
		return 0
	}
	d.Rest = d.Rest[n:]
	return v
}

// Ref reads a ref that [AppendRef] wrote. The ref may be invalid.
func (d *Decoder) Ref() Ref {
	r := Ref{Kind: Kind(d.Byte())}
	last := [...]string{d.last.Project, d.last.Session, d.last.Message, d.last.Part}
	for i, s := range [...]*string{&r.Project, &r.Session, &r.Message, &r.Part} {
		if b := d.Bytes(d.Uvarint()); string(b) == last[i] {
			*s = last[i]
		} else {
			*s = string(b)
		}
	}
	d.last = r
	return r
}
