package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkParseAPIError reads errors that quote more and more others, or name more
// and more calls: no doubling
// should take more than 2.5 times the time.
func BenchmarkParseAPIError(b *testing.B) {
	for _, n := range []int{1_000, 2_000, 4_000, 8_000} {
		input := []byte(strings.Repeat(`{"responseBody":`, n) + "{}" + strings.Repeat("}", n))
		b.Run(fmt.Sprintf("levels/%d", n), func(b *testing.B) {
			for b.Loop() {
				ParseAPIError(input)
			}
		})
	}
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
