package term

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// TestPickerWidth: no line of the list is wider than the terminal, and each row has its own line.
func TestPickerWidth(t *testing.T) {
	var rows [][]any
	for i, title := range []Text{"short", Escape(strings.Repeat("long ", 60)), Escape("家族 👩‍👩‍👧 שלום " + strings.Repeat("家", 80)), Faint("(no title)")} {
		rows = append(rows, []any{Sprintf("ses_%d", i), "3 days ago", title})
	}
	for _, width := range []int{40, 80, 200} {
		p := newPicker("Which session?", rows)
		p.Update(tea.WindowSizeMsg{Width: width, Height: 24})
		p.Update(tea.KeyPressMsg{Code: tea.KeyDown})
		lines := strings.Split(p.View().Content, "\n")
		if len(lines) != len(rows)+pickerFrame {
			t.Errorf("width %d: %d lines, want %d", width, len(lines), len(rows)+pickerFrame)
		}
		for _, line := range lines {
			if n := ansi.StringWidth(line); n > width {
				t.Errorf("width %d: a line of %d columns: %q", width, n, line)
			}
		}
		if !strings.HasPrefix(ansi.Strip(lines[2]), "> ses_1") {
			t.Errorf("width %d: the cursor is not at the second row: %q", width, lines[2])
		}
	}
}
