package repair

import (
	"strconv"
	"strings"
)

// olderThan reports whether version is known and lower than limit.
func olderThan(version string, limit [3]int) bool {
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	for i, want := range limit {
		if i == len(numbers) {
			return false
		}
		digits, _, _ := strings.Cut(numbers[i], "-") // 1.2.0-beta
		n, err := strconv.Atoi(digits)
		if err != nil || n != want {
			return err == nil && n < want
		}
	}
	return false
}
