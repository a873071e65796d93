package bigstore

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"mend/testdata"
)

// Transcripts writes a folder of Claude Code at dir with so many healthy sessions, about 100 KB
// each: most are small, some have images.
func Transcripts(dir string, sessions int, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	images, err := newImages(rng)
	if err != nil {
		return err
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range sessions {
		project := filepath.Join(dir, "projects", fmt.Sprintf("-home-user-project%d", i%200))
		if err := os.MkdirAll(project, 0o700); err != nil {
			return err
		}
		id := newUUID(rng)
		file := filepath.Join(project, id+".jsonl")
		if err := os.WriteFile(file, transcript(rng, id, images), 0o600); err != nil {
			return err
		}
		at := start.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(file, at, at); err != nil {
			return err
		}
	}
	return nil
}

func newUUID(rng *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", rng.Uint32(), rng.IntN(1<<16), rng.IntN(1<<12), rng.IntN(1<<12), rng.Int64N(1<<48))
}

// newImages returns some images of noise, in base64.
func newImages(rng *rand.Rand) (all []string, err error) {
	for i := range 8 {
		picture := image.NewRGBA(image.Rect(0, 0, 200+50*i, 250))
		for at := range picture.Pix {
			picture.Pix[at] = uint8(rng.Uint32())
		}
		picture.Set(0, 0, color.White)
		var b bytes.Buffer
		if err := png.Encode(&b, picture); err != nil {
			return nil, err
		}
		all = append(all, base64.StdEncoding.EncodeToString(b.Bytes()))
	}
	return all, nil
}

var (
	idPattern     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:msg|toolu)_[A-Za-z0-9]+`)
	parentPattern = regexp.MustCompile(`"parentUuid":null`)
	uuidPattern   = regexp.MustCompile(`"uuid":"([^"]+)"`)
	textPattern   = regexp.MustCompile(`"text":"[^"\\]*"`)
)

// transcript returns a session: the conversation of [testdata.Claude] several times, with ids
// of its own, longer texts, and perhaps a prompt with images.
func transcript(rng *rand.Rand, session string, images []string) []byte {
	var out bytes.Buffer
	last := ""
	for range 1 + int(min(rng.ExpFloat64()*2, 40)) {
		ids := map[string]string{testdata.ClaudeSession: session}
		part := idPattern.ReplaceAllStringFunc(string(testdata.Claude), func(id string) string {
			if ids[id] == "" {
				ids[id] = newUUID(rng)
				if id[0] == 'm' || id[0] == 't' {
					ids[id] = id + ids[id][:8]
				}
			}
			return ids[id]
		})
		if last != "" {
			part = parentPattern.ReplaceAllLiteralString(part, fmt.Sprintf(`"parentUuid":%q`, last))
		}
		part = textPattern.ReplaceAllStringFunc(part, func(text string) string {
			return text[:len(text)-1] + noise(rng, rng.IntN(2000)) + `"`
		})
		out.WriteString(part)
		all := uuidPattern.FindAllStringSubmatch(part, -1)
		last = all[len(all)-1][1]
		if rng.IntN(40) == 0 {
			for range 1 + rng.IntN(3) {
				id := newUUID(rng)
				fmt.Fprintf(&out, `{"parentUuid":%q,"isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]},"uuid":%q,"timestamp":"2026-11-22T16:00:00.000Z","cwd":"/home/user/project","sessionId":%q,"version":"2.1.330"}`+"\n", last, images[rng.IntN(len(images))], id, session)
				last = id
			}
		}
	}
	return out.Bytes()
}

// noise returns n bytes of text.
func noise(rng *rand.Rand, n int) string {
	const letters = "etaoin shrdlu cmfwyp "
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b)
}
