package jsonedit

import "bytes"

// surrogateLen is the length of an escaped UTF-16 code unit.
const surrogateLen = len(`\ud800`)

// HasHalfPair reports whether a JSON text has an escaped surrogate without its other half. JSON.stringify writes such
// an escape; most parsers other than JSON.parse refuse the text.
func HasHalfPair(raw []byte) bool { return halfPair(raw, 0) >= 0 }

// FixHalfPairs returns the text with U+FFFD in place of each half of a surrogate pair. The rest is
// unchanged. Without such a half it returns raw itself.
func FixHalfPairs(raw []byte) []byte {
	var out []byte
	done := 0
	for at := halfPair(raw, 0); at >= 0; at = halfPair(raw, done) {
		out = append(append(out, raw[done:at]...), `\ufffd`...)
		done = at + surrogateLen
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

// halfPair returns the offset of the first surrogate without its other half at or after from, or -1.
func halfPair(raw []byte, from int) int {
	for at := from; ; {
		next := bytes.IndexByte(raw[at:], '\\')
		if next < 0 {
			return -1
		}
		at += next
		switch unit := surrogate(raw[at:]); {
		case unit == 0:
			at += 2 // the backslash and the character that it escapes
		case unit == 'h' && surrogate(raw[min(at+surrogateLen, len(raw)):]) == 'l':
			at += 2 * surrogateLen
		default:
			return at
		}
		if at >= len(raw) {
			return -1
		}
	}
}

// surrogate returns 'h' if raw begins with an escaped high surrogate, 'l' for a low one, else 0.
func surrogate(raw []byte) byte {
	if len(raw) < surrogateLen || raw[0] != '\\' || raw[1] != 'u' || raw[2] != 'd' && raw[2] != 'D' {
		return 0
	}
	switch c := raw[3] | 0x20; {
	case c == '8', c == '9', c == 'a', c == 'b':
		return 'h'
	case c >= 'c' && c <= 'f':
		return 'l'
	}
	return 0
}
