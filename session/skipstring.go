package session

import (
	"encoding/binary"
	"math/bits"
)

const (
	// blockSize is how many bytes of a text are looked at together: as many as a
	// word has bits. An escape that begins in them goes on behind them by escapeRest
	// at most.
	blockSize  = 64
	escapeRest = 5

	// shortWords is how many words of eight bytes a string is looked at by before it
	// counts as a text.
	shortWords = 4
)

// each times a byte is a word of it; highs are the high bits of all bytes.
const (
	each  = 0x0101010101010101
	highs = 0x80 * each
)

// skipString returns where the string ends whose first character is at byte i, -1
// for none.
func skipString(data []byte, i int) int {
	for range shortWords { // most strings are names, ids, words
		if i+8 > len(data) {
			break
		}
		if found := ^plains(binary.LittleEndian.Uint64(data[i:])) & highs; found != 0 {
			if i += bits.TrailingZeros64(found) / 8; data[i] == '"' {
				return i + 1
			}
			break
		}
		i += 8
	}
	return skipText(data, i)
}

// skipText is skipString for a long one. In most there is an escape every few
// words, and no processor foresees in which: to guess wrong costs more than to look.
// So those of a whole block are found without a branch.
func skipText(data []byte, i int) int {
	var last [blockSize + escapeRest]byte
	for {
		b := &last
		if i+len(last) <= len(data) {
			b = (*[blockSize + escapeRest]byte)(data[i:])
		} else {
			last = [blockSize + escapeRest]byte{} // zeros are in no string
			copy(last[:], data[i:])
		}
		mixed := plainsAt(b, 0)>>7 | plainsAt(b, 8)>>6 | plainsAt(b, 16)>>5 | plainsAt(b, 24)>>4 |
			plainsAt(b, 32)>>3 | plainsAt(b, 40)>>2 | plainsAt(b, 48)>>1 | plainsAt(b, 56)
		next := blockSize
		for found := transposed(^mixed); found != 0; {
			at := bits.TrailingZeros64(found) & (blockSize - 1)
			if b[at] == '"' {
				return i + at + 1
			}
			if b[at] != '\\' {
				return -1 // a control character, or the end
			}
			if !isShortEscape[b[at+1]] {
				if next = skipCode(b[:], at+1); next < 0 {
					return -1
				}
				break
			}
			next = max(blockSize, at+2)
			found &^= 3 << at // with the character behind it
		}
		i += next
	}
}

// isShortEscape tells which characters are an escape with a backslash before them.
var isShortEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// skipCode returns where the escape ends whose u is at byte i, -1 for none, and for
// half of a surrogate pair.
func skipCode(data []byte, i int) int {
	if data[i] != 'u' || i+5 > len(data) || (data[i+1] == 'd' || data[i+1] == 'D') && data[i+2] > '7' {
		return -1
	}
	for _, c := range data[i+1 : i+5] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return -1
		}
	}
	return i + 5
}

func plainsAt(b *[blockSize + escapeRest]byte, i int) uint64 {
	return plains(binary.LittleEndian.Uint64(b[i:]))
}

// plains has the high bit of each byte of x that is no quote, backslash or control
// character. No sum goes beyond its byte.
func plains(x uint64) uint64 {
	const low = 0x7f * each
	// With that bit turned a quote, too, is below 0x21, and nothing else that is not.
	control, slash := x&low^each*('"'^' '), x&low^each*'\\'
	return ((control+each*(0x80-0x21))&(slash+each*0x7f) | x) & highs
}

// transposed is the 8 by 8 bits of x with rows and columns exchanged.
func transposed(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}
