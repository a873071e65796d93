package provider

import (
	"encoding/json"

	"mend/internal/request"
)

// Encode returns a request in the form of an API as JSON.
func Encode(form any) []byte {
	data, err := json.Marshal(form)
	if err != nil {
		return nil // impossible: strings, and JSON that was read as such
	}
	return data
}

// EncodeBlocks returns what encode returns for each block.
func EncodeBlocks[T any](blocks []*request.Block, encode func(b *request.Block) T) []T {
	out := make([]T, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, encode(b))
	}
	return out
}
