package provider

import (
	"strings"
	"unicode/utf8"

	"mend/request"
)

// Violate returns a violation at block m of turn n, with the records of the blocks, the main
// one first.
func Violate(n, m int, message string, blocks ...*request.Block) request.Violation {
	v := request.Violation{Message: message, Refs: request.Sources(blocks...), N: n, M: m}
	if len(blocks) > 0 {
		v.Block = blocks[0]
	}
	return v
}

// EachBlock calls f for every block of the turns, in order. Blocks inside a result are not
// included.
func EachBlock(turns []request.Turn, f func(n, m int, b *request.Block)) {
	for n := range turns {
		for m, b := range turns[n].Blocks {
			f(n, m, b)
		}
	}
}

// EachImage calls f for every image of the turns, in order: block m of turn n, or block i of
// the result that is block m; i is -1 for none.
func EachImage(turns []request.Turn, f func(n, m, i int, b *request.Block)) {
	EachBlock(turns, func(n, m int, b *request.Block) {
		if b.Type == request.Image {
			f(n, m, -1, b)
		}
		for i, in := range b.Content {
			if in.Type == request.Image {
				f(n, m, i, in)
			}
		}
	})
}

// IsDecodable reports whether an image is one of the types that every provider takes, with
// data that is complete. Of an image that is linked to that is not known.
func IsDecodable(b *request.Block) bool { return b.URL != "" || b.MediaInfo().Image() }

// IsName reports whether s is made of letters, digits, _ and -, and is not empty.
func IsName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// IsObject reports whether the input of a call is an object. No input counts as one.
func IsObject(input []byte) bool {
	return input == nil || strings.HasPrefix(strings.TrimSpace(string(input[:min(len(input), 64)])), "{")
}

// IsBlank reports whether a text has nothing but white space.
func IsBlank(s string) bool { return strings.TrimSpace(s) == "" }

// OutputLength returns the length in characters of the output of a result, or of a text in
// it; 0 if no more than limit. Texts are only counted if they may be longer.
func OutputLength(b *request.Block, limit int) int {
	longest := 0
	note := func(text string) { longest = max(longest, utf8.RuneCountInString(text)) }
	if len(b.Output) > limit {
		note(b.OutputText())
	}
	for _, c := range append([]*request.Block{b}, b.Content...) {
		if len(c.Text) > limit {
			note(c.Text)
		}
	}
	if longest <= limit {
		return 0
	}
	return longest
}
