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

// A picture is what data holds. It is decoded as a provider does, and shares no code with
// package media, which never decodes pixels.
type picture struct {
	Kind             string // png, jpeg, gif or webp; "" if it cannot be decoded
	Width, Height    int
	Empty, NotBase64 bool
}

// maxPixels is how large an image is decoded. The header alone counts for larger ones.
const maxPixels = 20 << 20

// decodePicture returns what base64 data holds. Padding is optional, and both alphabets count.
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
