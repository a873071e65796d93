package endpoint

import (
	"fmt"
)

// largestImage is the provider's limit on the base64 text of an image.
const largestImage = 5 << 20

// findImage returns the first message of check for an image, in a message or in a tool result, or "".
func (c conversation) findImage(check func(place string, s Source) string) string {
	return c.find(func(b locatedBlock) string {
		if m := checkImage(b.path(), b.Block, check); m != "" {
			return m
		}
		for i, inner := range b.Content {
			if m := checkImage(fmt.Sprintf("%s.tool_result.content.%d", b.path(), i), inner, check); m != "" {
				return m
			}
		}
		return ""
	})
}

func checkImage(path string, b Block, check func(place string, s Source) string) string {
	if b.Type != "image" || b.Source.Type == "url" {
		return ""
	}
	return check(path+".image.source.base64", b.Source)
}

// R15: no image is too large.
func largeImage(c conversation) string {
	return c.findImage(func(place string, s Source) string {
		if n := len(s.Data); n > largestImage {
			return fmt.Sprintf("%s: image exceeds 5 MB maximum: %d bytes > %d bytes", place, n, largestImage)
		}
		return ""
	})
}

func (s Source) accepted() bool {
	switch s.MediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}

// R18: an image can be decoded.
func noImage(c conversation) string {
	return c.findImage(func(place string, s Source) string {
		if !s.accepted() {
			return ""
		}
		switch p := decodePicture(s.Data); {
		case p.Empty:
			return place + ": image cannot be empty"
		case p.NotBase64:
			return place + ": invalid base64 data"
		case p.Kind == "":
			return "Could not process image"
		}
		return ""
	})
}

// R19: the media type is one of four.
func otherMediaType(c conversation) string {
	return c.findImage(func(place string, s Source) string {
		if s.accepted() {
			return ""
		}
		return place + ".media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
	})
}

// R20: the media type matches the data.
func wrongMediaType(c conversation) string {
	return c.findImage(func(place string, s Source) string {
		p := decodePicture(s.Data)
		if !s.accepted() || p.Kind == "" || "image/"+p.Kind == s.MediaType {
			return ""
		}
		return fmt.Sprintf("%s: The image was specified using the %s media type, but the image appears to be a image/%s image", place, s.MediaType, p.Kind)
	})
}

// R21: an image is not too wide or too high; the limit is lower for more than 20 images.
func wideImage(c conversation) string {
	images := 0
	c.findImage(func(string, Source) string { images++; return "" })
	return c.findImage(func(place string, s Source) string {
		const words = ".data: At least one of the image dimensions exceed max allowed size"
		switch p := decodePicture(s.Data); {
		case p.Width > 8000 || p.Height > 8000:
			return place + words + ": 8000 pixels"
		case images > 20 && (p.Width > 2000 || p.Height > 2000):
			return place + words + " for many-image requests: 2000 pixels"
		}
		return ""
	})
}
