// Package anthropic holds the rules of Anthropic's Messages API on a request, with the
// error texts of the API (docs/providers.md), and its JSON form of a request.
//
// The rules come from public error reports; the API may be stricter.
package anthropic

import "mend/provider"

// Provider is Anthropic's Messages API.
type Provider struct{}

var _ provider.Provider = Provider{}

// Name returns "anthropic".
func (Provider) Name() string { return "anthropic" }

// LargestImage is the largest image that the API accepts: the length of its base64
// text in bytes.
const LargestImage = 5 << 20

// LargestRequest is the number of bytes of the largest request that the API accepts.
const LargestRequest = 32 << 20

// ManyImages is the largest number of images in a request that may each have 8,000 pixels a side.
// With more of them each may have 2,000.
const ManyImages = 20
