//go:build e2e

package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
)

// browser returns the path of a browser that runs without a screen.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed: apt-get install chromium")
	return ""
}

// runBrowser opens a file in the browser and returns the browser's output.
func runBrowser(t *testing.T, path string, args ...string) []byte {
	t.Helper()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "--window-size=1000,760",
		"--host-resolver-rules=MAP * ~NOTFOUND", // nothing may be loaded
	}, append(args, "file://"+path)...)
	out, err := exec.CommandContext(t.Context(), browser(t), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRealReport: a real browser shows a report completely at each width. With -update the test writes docs/report.png.
func TestRealReport(t *testing.T) {
	browser(t)
	ts := newTestStore(t, 0)
	damage.Edit(ts, ts.path, ts.session, damage.ByName(ts, "blank answer"))
	path := filepath.Join(t.TempDir(), "page.html")
	if code, out := ts.mend("report", ts.session, "-o", path); code != frame.ExitDone {
		t.Fatalf("mend report: exit code %d\n%s", code, out)
	}
	dom := string(runBrowser(t, path, "--dump-dom"))
	for _, want := range []string{`<div class="block broken">`, `<h2 id="proof">`, "white space only", `<span class="plus">`} {
		if !strings.Contains(dom, want) {
			t.Errorf("the browser's document has no %s:\n%s", want, dom)
		}
	}
	screenshot := filepath.Join(t.TempDir(), "page.png")
	runBrowser(t, path, "--screenshot="+screenshot)
	data, err := os.ReadFile(screenshot)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[color.Color]int{}
	for x := range picture.Bounds().Dx() {
		for y := range picture.Bounds().Dy() {
			colours[picture.At(x, y)]++
		}
	}
	if len(colours) < 20 {
		t.Errorf("the picture has %d colours", len(colours))
	}
	if *update {
		writePicture(t, picture, colours)
	}
	for _, width := range []int{390, 800, 1280} {
		for _, dark := range []bool{false, true} {
			checkWidth(t, path, width, dark)
		}
	}
}

// checkWidth checks that no text is cut off at the right edge of a page, and that the page is not as high as with one
// word in each line.
func checkWidth(t *testing.T, path string, width int, dark bool) {
	t.Helper()
	const height = 4500
	file := filepath.Join(t.TempDir(), "width.png")
	args := []string{"--screenshot=" + file, fmt.Sprintf("--window-size=%d,%d", width, height)}
	if dark {
		args = append(args, "--force-dark-mode", "--blink-settings=preferredColorScheme=0")
	}
	runBrowser(t, path, args...)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	paper, last := page.At(0, 0), 0
	for y := range page.Bounds().Dy() {
		for x := range page.Bounds().Dx() {
			if page.At(x, y) == paper {
				continue
			}
			if last = y; x > page.Bounds().Dx()-6 {
				t.Fatalf("%d columns, dark %t: something is at the right edge, in line %d", width, dark, y)
			}
		}
	}
	if last >= height-10 {
		t.Errorf("%d columns, dark %t: the page has %d lines of pixels", width, dark, last)
	}
	if r, _, _, _ := paper.RGBA(); dark != (r < 0x8000) {
		t.Errorf("%d columns: the background is %v, dark %t", width, paper, dark)
	}
}

// writePicture writes the picture with its 256 most frequent colours, which takes less space.
func writePicture(t *testing.T, picture image.Image, colours map[color.Color]int) {
	t.Helper()
	frequent := slices.SortedFunc(maps.Keys(colours), func(a, b color.Color) int { return colours[b] - colours[a] })
	small := image.NewPaletted(picture.Bounds(), frequent[:min(256, len(frequent))])
	draw.Draw(small, small.Bounds(), picture, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("../../docs/report.png", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
