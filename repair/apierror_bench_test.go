package repair

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkParseAPIError reads errors that name more and more calls: no doubling
// should take more than 2.5 times the time.
func BenchmarkParseAPIError(b *testing.B) {
	for _, n := range []int{10_000, 20_000, 40_000, 80_000} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "toolu_%d ", i)
		}
		input := []byte("tool_use ids without tool_result: " + text.String())
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				ParseAPIError(input)
			}
		})
	}
}
