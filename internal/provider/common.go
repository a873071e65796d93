package provider

import (
	"cmp"
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"mend/internal/request"
)

// ParseCommon parses an error that belongs to no single agent or API, such as an error of the file system, the
// account or the network. It is tried after the agents' parsers.
func ParseCommon(input []byte) request.APIError { return commonParser().Parse(input) }

var commonParser = sync.OnceValue(func() *ErrorParser {
	return NewErrorParser(ErrorTexts{Kinds: ParseKinds(commonText)})
})

//go:embed common.txt
var commonText string

// ParseKinds returns the kinds of errors in a text, in order. The format is explained in common.txt.
func ParseKinds(text string) (kinds []ErrorKind) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		words, isWords := strings.CutPrefix(line, "\t")
		fields, explanation, isKind := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#"):
		case isWords:
			k := &kinds[len(kinds)-1]
			k.Any = append(k.Any, words)
		case isKind:
			k := ErrorKind{Explanation: cmp.Or(strings.TrimSpace(explanation), TooLong.Explanation)}
			for field := range strings.FieldsSeq(fields) {
				rank, err := strconv.Atoi(field)
				switch s := request.Subject(field); s {
				case request.AboutSession, request.AboutUnclear, request.AboutStore, request.AboutOther, request.AboutService:
					k.About = s
				default:
					if k.Rank = cmp.Or(rank, k.Rank); err != nil {
						k.Class = request.Class(field)
					}
				}
			}
			kinds = append(kinds, k)
		}
	}
	return kinds
}
