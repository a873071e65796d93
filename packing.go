package mend

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
)

// A packing puts values one behind the other, or takes them out again: so the
// files of the cache hold what they hold. One function says for both what a value
// consists of. To read the same as JSON would take longer than all the rest of a
// scan in which nothing has changed.
type packing struct {
	puts  bool
	out   []byte         // what was put
	seen  map[string]int // the texts in it, and which they are
	in    string         // what is still to be taken
	texts []string       // that were in it so far
	bad   bool           // that cannot be what was put
}

// pack is what fields puts.
func pack(fields func(*packing)) []byte {
	p := packing{puts: true, seen: map[string]int{}}
	fields(&p)
	return p.out
}

// unpack lets fields take out what it once put, and reports whether that is what
// data holds.
func unpack(data []byte, fields func(*packing)) bool {
	p := packing{in: string(data)}
	fields(&p)
	return !p.bad && p.in == ""
}

// number is a number: a varint.
func number[T ~int | ~int64 | ~uint8](p *packing, n *T) {
	if p.puts {
		p.out = binary.AppendVarint(p.out, int64(*n))
		return
	}
	v, size := binary.Varint([]byte(p.in[:min(len(p.in), binary.MaxVarintLen64)]))
	*n = T(v)
	if size <= 0 || int64(*n) != v {
		*n = 0
		p.fail()
		return
	}
	p.in = p.in[size:]
}

// length is how many things follow.
func (p *packing) length(n int) int {
	number(p, &n)
	if !p.puts && (n < 0 || n > len(p.in)) { // each takes a byte at least
		p.fail()
		return 0
	}
	return n
}

// fail notes that this cannot be what was put: nothing more is taken.
func (p *packing) fail() { p.bad, p.in = true, "" }

// text is a text with its length before it, or where it was there before, which one
// it is: much of what is found is said of many records.
func text[T ~string](p *packing, s *T) {
	if p.puts {
		p.putText(string(*s))
	} else {
		*s = T(p.takeText())
	}
}

func (p *packing) putText(s string) {
	if i, ok := p.seen[s]; ok {
		i = -1 - i
		number(p, &i)
		return
	}
	p.seen[s] = len(p.seen)
	p.length(len(s))
	p.out = append(p.out, s...)
}

func (p *packing) takeText() string {
	var n int
	number(p, &n)
	switch {
	case n < 0 && -1-n < len(p.texts):
		return p.texts[-1-n]
	case n < 0 || n > len(p.in):
		p.fail()
		return ""
	}
	s := p.in[:n]
	p.texts, p.in = append(p.texts, s), p.in[n:]
	return s
}

func (p *packing) flag(b *bool) {
	var n uint8
	if *b {
		n = 1
	}
	number(p, &n)
	*b = n != 0
}

func (p *packing) sum(sum *[sha256.Size]byte) {
	s := string(sum[:])
	text(p, &s)
	if copy(sum[:], s) != len(sum) {
		p.fail()
	}
}

// list is the items of all.
func list[T any](p *packing, all *[]T, item func(*packing, *T)) {
	n := p.length(len(*all))
	if !p.puts && n > 0 {
		*all = make([]T, n)
	}
	for i := range *all {
		item(p, &(*all)[i])
	}
}

// dict is the values of all with their keys.
func dict[T any](p *packing, all *map[string]T, value func(*packing, *T)) {
	n := p.length(len(*all))
	if p.puts {
		for k, v := range *all {
			text(p, &k)
			value(p, &v)
		}
		return
	}
	*all = make(map[string]T, n)
	for range n {
		var k string
		var v T
		text(p, &k)
		value(p, &v)
		(*all)[k] = v
	}
}

// seal is the body behind a line with its length and its checksum, in the words of
// head.
func seal(head string, body []byte) []byte {
	return append(fmt.Appendf(nil, head, len(body), sha256.Sum256(body)), body...)
}

// unseal is the body that was sealed and what was written behind it, and whether
// the body is whole.
func unseal(head string, data []byte) (body, rest []byte, ok bool) {
	line, data, _ := bytes.Cut(data, []byte("\n"))
	words := bytes.Fields(line)
	if len(words) < 2 {
		return nil, nil, false
	}
	n, err := strconv.Atoi(string(words[len(words)-2]))
	if err != nil || n < 0 || n > len(data) {
		return nil, nil, false
	}
	body, rest = data[:n], data[n:]
	return body, rest, string(line)+"\n" == fmt.Sprintf(head, n, sha256.Sum256(body))
}
