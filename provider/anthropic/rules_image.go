package anthropic

import (
	"fmt"

	"mend/internal/media"
	"mend/request"
)

const (
	largestSide   = 8000 // in pixels
	largestOfMany = 2000 // in a request with more than ManyImages
)

// checkImages returns a violation for every image for which check returns a text. The
// message is the place of the image in the API's words and that text.
func checkImages(r request.Request, check func(b *request.Block) string) (found []request.Violation) {
	eachImage(r, func(n, m int, place string, b *request.Block) {
		if text := check(b); text != "" {
			found = append(found, request.Violation{Message: place + text, Refs: request.Sources(b), N: n, M: m, Block: b})
		}
	})
	return found
}

// eachImage calls f for every image that is sent, on its own or in a result.
func eachImage(r request.Request, f func(n, m int, place string, b *request.Block)) {
	for n, t := range r.Turns {
		for m, b := range t.Blocks {
			if b.Type == request.Image && b.URL == "" {
				f(n, m, path(n, m)+".image.source.base64", b)
			}
			for i, in := range b.Content {
				if in.Type == request.Image && in.URL == "" {
					f(n, m, fmt.Sprintf("%s.tool_result.content.%d.image.source.base64", path(n, m), i), in)
				}
			}
		}
	}
}

// isImageType reports whether the API accepts the media type.
func isImageType(mime string) bool {
	return mime == media.JPEG || mime == media.PNG || mime == media.GIF || mime == media.WebP
}

// largeImage is R15.
func largeImage(r request.Request, _ bool) []request.Violation {
	return checkImages(r, func(b *request.Block) string {
		if len(b.Data) <= LargestImage {
			return ""
		}
		return fmt.Sprintf(": image exceeds 5 MB maximum: %d bytes > %d bytes", len(b.Data), LargestImage)
	})
}

// noImage is R18. Of an image of another media type the API reports only R19.
func noImage(r request.Request, _ bool) (found []request.Violation) {
	eachImage(r, func(n, m int, place string, b *request.Block) {
		if !isImageType(b.Mime) {
			return
		}
		v := request.Violation{Refs: request.Sources(b), N: n, M: m, Block: b}
		switch info := b.MediaInfo(); {
		case info.Fault == media.Empty:
			v.Message = place + ": image cannot be empty"
		case info.Fault == media.NotBase64:
			v.Message = place + ": invalid base64 data"
		case !info.Image():
			v.Message = "Could not process image"
		default:
			return
		}
		found = append(found, v)
	})
	return found
}

// otherImageType is R19.
func otherImageType(r request.Request, _ bool) []request.Violation {
	return checkImages(r, func(b *request.Block) string {
		if isImageType(b.Mime) {
			return ""
		}
		return ".media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
	})
}

// wrongImageType is R20.
func wrongImageType(r request.Request, _ bool) []request.Violation {
	return checkImages(r, func(b *request.Block) string {
		info := b.MediaInfo()
		if !isImageType(b.Mime) || !info.Image() || info.Type == b.Mime {
			return ""
		}
		return fmt.Sprintf(": The image was specified using the %s media type, but the image appears to be a %s image", b.Mime, info.Type)
	})
}

// wideImage is R21.
func wideImage(r request.Request, _ bool) []request.Violation {
	count := 0
	eachImage(r, func(int, int, string, *request.Block) { count++ })
	return checkImages(r, func(b *request.Block) string {
		info := b.MediaInfo()
		switch side := max(info.Width, info.Height); {
		case !info.Image():
		case side > largestSide:
			return fmt.Sprintf(".data: At least one of the image dimensions exceed max allowed size: %d pixels", largestSide)
		case side > largestOfMany && count > ManyImages:
			return fmt.Sprintf(".data: At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", largestOfMany)
		}
		return ""
	})
}
