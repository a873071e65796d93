package endpoint

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif"  // decoders
	_ "image/jpeg" // …
	_ "image/png"  // …
	"strings"

	_ "golang.org/x/image/webp" // BSD; the standard library has none for WebP
)

// A picture is the image in some data. It is decoded as a provider does, and shares no code with package
// media, which never decodes pixels.
type picture struct {
	Kind             string // png, jpeg, gif or webp; "" if it cannot be decoded
	Width, Height    int
	Empty, NotBase64 bool
}

// maxPixels limits decoding. For larger images only the header is checked.
const maxPixels = 20 << 20

// decodePicture returns the image in base64 data. Padding is optional, and both alphabets are accepted.
func decodePicture(data string) picture {
	plain := strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", " ", "", "\t", "").Replace(data)
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "="))
	switch {
	case err != nil:
		return picture{NotBase64: true}
	case len(raw) == 0:
		return picture{Empty: true}
	}
	size, kind, err := image.DecodeConfig(bytes.NewReader(raw))
	if err == nil && size.Width*size.Height <= maxPixels {
		_, kind, err = image.Decode(bytes.NewReader(raw))
	}
	if err != nil {
		return picture{}
	}
	return picture{Kind: kind, Width: size.Width, Height: size.Height}
}

// decodes reports whether the URL has an image that can be decoded. A link counts, because the endpoint does not follow
// links. empty means that it has no bytes.
func decodes(url string) (empty, ok bool) {
	head, data, found := strings.Cut(url, ",")
	if !strings.HasPrefix(url, "data:") {
		return false, strings.HasPrefix(url, "http")
	}
	if !found || !strings.HasSuffix(head, ";base64") {
		return false, false
	}
	p := decodePicture(data)
	return p.Empty, p.Kind != ""
}
