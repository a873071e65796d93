//go:build e2e

package claude_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fixture "mend/internal/test/claude"
	"mend/internal/test/endpoint"
	"mend/internal/unattended"
	"mend/repair"
)

// TestRealTrim trims the results of a session: the real program no longer sends them, and sends everything else as
// before. After the undo it sends them again.
func TestRealTrim(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("many words ", 80))
	data := bytes.Replace(fixture.Baseline, []byte(`"content":"hi"`), []byte(`"content":"`+text+`"`), 1)
	onVersions(t, func(t *testing.T, version string, h *fixture.Home) {
		if testing.Short() && version != fixture.Versions[0] {
			t.Skip("the newest version is the sample")
		}
		count := func(r fixture.Reply, text string) int {
			n := 0
			for _, b := range r.Blocks {
				if strings.Contains(b, text) {
					n++
				}
			}
			return n
		}
		h.Put(fixture.Session, data)
		before := h.Prompt(fixture.Session, prompt, true)
		h.Put(fixture.Session, data)
		c := client(t, h)
		id, trimmed, err := unattended.New(c).Trim(t.Context(), fixture.Session, repair.TrimRequest{Goal: 1, KeepTurns: 1})
		if err != nil || len(trimmed.Outputs) != 2 { // the text and the image
			t.Fatalf("Trim = %+v, %v", trimmed, err)
		}
		stored := h.Read(fixture.Session)
		if !bytes.HasPrefix(stored, data) {
			t.Error("the trim changes stored bytes")
		}
		after := h.Prompt(fixture.Session, prompt, true)
		if !before.Answered || !after.Answered || count(before, text) != 1 || count(after, text) != 0 || count(after, "[Old tool result content cleared]") != 2 {
			t.Errorf("before: %t, %d times the text; after: %t, %d times, %d cleared: %s", before.Answered, count(before, text), after.Answered, count(after, text), count(after, "cleared"), after.Output)
		}
		kept := func(r fixture.Reply) []string {
			return slices.DeleteFunc(slices.Clone(r.Blocks), func(b string) bool {
				return strings.Contains(b, text) || strings.Contains(b, "cleared") || strings.Contains(b, "image")
			})
		}
		if diff := cmp.Diff(kept(before), kept(after)); diff != "" {
			t.Errorf("the other blocks differ (-before +after):\n%s", diff)
		}
		h.Put(fixture.Session, stored)
		checkUndo(t, c, h, fixture.Session, id, data)
		if again := h.Prompt(fixture.Session, prompt, true); !slices.Equal(again.Blocks, before.Blocks) {
			t.Errorf("after the undo the request differs:\n%s", cmp.Diff(before.Blocks, again.Blocks))
		}
	})
}

// TestRealTrimTurns sets aside all turns except the newest: the real program sends the first prompt with a note, and
// none of the other turns. The undo restores the transcript.
func TestRealTrimTurns(t *testing.T) {
	h := fixture.NewHome(t, install(t))
	h.Put(fixture.Session, fixture.Baseline)
	before := h.Prompt(fixture.Session, prompt, true)
	h.Put(fixture.Session, fixture.Baseline)
	c := client(t, h)
	id, trimmed, err := unattended.New(c).Trim(t.Context(), fixture.Session, repair.TrimRequest{Hard: true, Goal: 1, KeepTurns: 1})
	if err != nil || len(trimmed.Turns) < 3 {
		t.Fatalf("set aside: %+v, %v", trimmed.Turns, err)
	}
	stored := h.Read(fixture.Session)
	after := h.Prompt(fixture.Session, prompt, true)
	sent := strings.Join(after.Blocks, "\n")
	if !before.Answered || !after.Answered || len(after.Blocks) >= len(before.Blocks) || !strings.Contains(sent, "taken out of this conversation") || !strings.Contains(sent, "P7seventh") {
		t.Errorf("answered before %t, after %t: %d blocks, then %d:\n%s\n%s", before.Answered, after.Answered, len(before.Blocks), len(after.Blocks), sent, after.Output)
	}
	for _, text := range []string{"P2second", "P3third", "P6sixth"} {
		if strings.Contains(sent, text) {
			t.Errorf("%s is still sent", text)
		}
	}
	h.Put(fixture.Session, stored)
	checkUndo(t, c, h, fixture.Session, id, fixture.Baseline)
}

// TestRealImages removes the images from older turns: neither the message nor the copy of a result for the screen still
// has them. The real program sends everything else as before, also in the terminal. An undo restores both copies.
func TestRealImages(t *testing.T) {
	noise := image.NewRGBA(image.Rect(0, 0, 64, 64))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(rnd.Uint32())
	}
	var b bytes.Buffer
	must(t, png.Encode(&b, noise))
	large := []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
	small := []byte("iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGM4ISeHFTEMLQkAkL9BAbKfPiIAAAAASUVORK5CYII=")
	data := bytes.ReplaceAll(fixture.Baseline, small, large)
	copies := bytes.Count(data, large)
	if copies < 2 || copies%2 != 0 {
		t.Fatalf("the image is %d times in the transcript", copies)
	}
	h := fixture.NewHome(t, install(t))
	h.Put(fixture.Session, data)
	before := h.Prompt(fixture.Session, prompt, true)
	h.Put(fixture.Session, data)
	c := client(t, h)
	head, err := c.Session(t.Context(), fixture.Session)
	must(t, err)
	trimmed, err := c.ProposeTrim(t.Context(), head, repair.TrimRequest{Files: true, KeepTurns: 1})
	must(t, err)
	e, err := c.Apply(t.Context(), trimmed.Plan)
	must(t, err)
	stored := h.Read(fixture.Session)
	if bytes.Contains(stored, large) || len(stored) > len(data)-copies*len(large)+1000 {
		t.Errorf("%d bytes are left of %d, with %d copies of the image", len(stored), len(data), bytes.Count(stored, large))
	}
	after := h.Prompt(fixture.Session, prompt, true)
	others := func(r fixture.Reply) []string {
		return slices.DeleteFunc(slices.Clone(r.Blocks), func(b string) bool { return strings.HasPrefix(b, `user {"content":[`) })
	}
	if diff := cmp.Diff(others(before), others(after)); !before.Answered || !after.Answered || diff != "" {
		t.Errorf("answered before %t, after %t; the other blocks differ (-before +after):\n%s", before.Answered, after.Answered, diff)
	}
	h.Put(fixture.Session, stored)
	api := endpoint.NewStrict(fixture.Script, nil)
	t.Cleanup(api.Close)
	term := h.Open(api.URL, "--resume", fixture.Session)
	term.Send("on the screen")
	term.Wait("on the screen")
	for end := time.Now().Add(fixture.Timeout); len(api.Calls()) == 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
	if len(api.Calls()) == 0 {
		t.Errorf("no request from the screen:\n%s", term.Shown())
	}
	term.Close()
	h.Put(fixture.Session, stored)
	checkUndo(t, c, h, fixture.Session, e.ID, data)
}
