package request

import "testing"

// TestSizes: the size of the request and the limit are read from an error's text; both are 0 if it does not
// name both.
func TestSizes(t *testing.T) {
	for text, want := range map[string][2]int{
		"prompt is too long: 240000 tokens > 200000 maximum":                                                      {240_000, 200_000},
		"input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000":                              {0, 0},
		"prompt token count of 141422 exceeds the limit of 128000":                                                {141_422, 128_000},
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":                 {1_200_000, 1_048_576},
		"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.": {130_000, 128_000},
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.":                    {537_812, 131_072},
		"Your input exceeds the context window of this model.":                                                    {0, 0},
		"prompt is too long: 99999999999999999999999999 tokens > 200000 maximum":                                  {0, 0},
	} {
		if a, w := (APIError{Text: text}).Sizes(); a != want[0] || w != want[1] {
			t.Errorf("%s: %d, %d, want %v", text, a, w, want)
		}
	}
}
