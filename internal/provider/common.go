package provider

import (
	_ "embed"
	"strings"
	"sync"

	"mend/internal/request"
)

// ParseCommon parses an error that belongs to no single agent or API, such as an error of the file system, the
// account or the network. It is tried after the agents' parsers.
func ParseCommon(input []byte) request.APIError { return commonParser().Parse(input) }

var commonParser = sync.OnceValue(func() *ErrorParser {
	return NewErrorParser(ErrorTexts{Kinds: commonKinds()})
})

//go:embed common.txt
var commonText string

// commonKinds returns the kinds in common.txt, in order.
func commonKinds() (kinds []ErrorKind) {
	for line := range strings.Lines(commonText) {
		words, isWords := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		about, explanation, isKind := strings.Cut(words, ": ")
		switch {
		case strings.HasPrefix(line, "#"):
		case isWords:
			k := &kinds[len(kinds)-1]
			k.Any = append(k.Any, strings.Split(words, " … "))
		case isKind:
			kinds = append(kinds, ErrorKind{About: request.Subject(about), Explanation: explanation})
		}
	}
	return kinds
}
