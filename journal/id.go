package journal

import (
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// The letters of repair ids. A consonant and a vowel make one of 100 syllables. Frozen: an id that
// was printed must always find its entry.
const (
	consonants = "bcdfghjklmnpqrstvwxz"
	vowels     = "aeiou"
)

// The number of syllables of an id. Ids with maxSyllables can express every uint64.
const (
	minSyllables = 3
	maxSyllables = 10
)

// scramble[k] is the factor that maps a sequence number to one of the 100^k ids with k syllables: about 0.618 of 100^k,
// so that ids of consecutive entries differ a lot, and coprime to 100^k, so that no two ids are equal. Frozen. Ids of
// maxSyllables are not scrambled, since 100^maxSyllables does not fit a uint64.
var scramble = [maxSyllables]uint64{
	3: 618033,
	4: 61803399,
	5: 6180339887,
	6: 618033988749,
	7: 61803398874989,
	8: 6180339887498949,
	9: 618033988749894849,
}

// pow100 returns 100^k, for k less than maxSyllables.
func pow100(k int) uint64 {
	p := uint64(1)
	for range k {
		p *= 100
	}
	return p
}

// IDOf returns the repair id of the entry with the given number: a pronounceable word of lower-case letters. Ids are
// unique, and up to 10^18 the ids of consecutive entries start with different letters.
func IDOf(seq uint64) string {
	k := max(minSyllables, (len(strconv.FormatUint(seq, 10))+1)/2) // a syllable has two digits
	n := seq
	if k < maxSyllables {
		hi, lo := bits.Mul64(seq, scramble[k])
		n = bits.Rem64(hi, lo, pow100(k))
	}
	id := make([]byte, 2*k)
	for i := 2*k - 2; i >= 0; i -= 2 {
		s := n % 100
		n /= 100
		id[i], id[i+1] = consonants[s/5], vowels[s%5]
	}
	return string(id)
}

// seqOf returns the sequence number of an id, and whether the id is valid. It reverses [IDOf] and
// accepts only ids that IDOf returns.
func seqOf(id string) (uint64, bool) {
	k := len(id) / 2
	if len(id)%2 != 0 || k < minSyllables || k > maxSyllables {
		return 0, false
	}
	n := new(big.Int)
	for i := 0; i < len(id); i += 2 {
		c, v := strings.IndexByte(consonants, id[i]), strings.IndexByte(vowels, id[i+1])
		n.Mul(n, big.NewInt(100)).Add(n, big.NewInt(int64(c*5+v)))
	}
	if k < maxSyllables {
		m := new(big.Int).SetUint64(pow100(k))
		inverse := new(big.Int).ModInverse(new(big.Int).SetUint64(scramble[k]), m)
		n.Mul(n, inverse).Mod(n, m)
	}
	if !n.IsUint64() || IDOf(n.Uint64()) != id {
		return 0, false
	}
	return n.Uint64(), true
}
