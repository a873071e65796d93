package transcript

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// FromUTF16 returns a transcript that is stored as UTF-16, with or without a byte order mark, as
// UTF-8. ok is false if it is not stored so. The program cannot read it: it finds no line in it.
func FromUTF16(data []byte) (text []byte, ok bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order, data = binary.LittleEndian, data[2:]
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order, data = binary.BigEndian, data[2:]
	case bytes.HasPrefix(data, []byte("{\x00\"\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\x00{\x00\"")):
		order = binary.BigEndian
	default:
		return nil, false
	}
	text = make([]byte, 0, len(data)/2+len(data)/16)
	for ; len(data) >= 2; data = data[2:] {
		r := rune(order.Uint16(data))
		if utf16.IsSurrogate(r) && len(data) >= 4 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(data[2:]))); pair != utf8.RuneError {
				r, data = pair, data[2:]
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return text, true
}
