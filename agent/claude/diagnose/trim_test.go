package diagnose_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"mend/agent/claude/diagnose"
	"mend/internal/test/claude"
	"mend/repair"
)

// long returns Baseline with long results of the first and of the last call. With the image it has three results that a
// trim clears.
func long() []byte {
	text := strings.Repeat("many words ", 1000)
	data := bytes.Replace(claude.Baseline, []byte(`"content":"hi"`), []byte(`"content":"`+text+`"`), 1)
	return bytes.ReplaceAll(data, []byte(`"content":"last"`), []byte(`"content":"`+text+`"`))
}

func source(data []byte) diagnose.Source { return diagnose.Source{Ref: ref, Data: data} }

func trim(s diagnose.Source, r repair.TrimRequest) (repair.Trimmed, error) {
	return repair.Trim(ref.Session, diagnose.New(s), r)
}

func uncompact(s diagnose.Source, r repair.UncompactRequest) (repair.Uncompacted, error) {
	return repair.Uncompact(ref.Session, diagnose.New(s), r)
}

// TestTrim: Trim clears old results by appending lines. It keeps the results of the newest turns and of protected
// tools.
func TestTrim(t *testing.T) {
	for name, test := range map[string]struct {
		request repair.TrimRequest
		outputs int
	}{
		"all":            {repair.TrimRequest{Goal: 1}, 3},
		"newest turn":    {repair.TrimRequest{Goal: 1, KeepTurns: 1}, 2},
		"protected":      {repair.TrimRequest{Goal: 1, Protected: []string{"bash"}}, 1},
		"small enough":   {repair.TrimRequest{Percent: 100}, 0},
		"a small window": {repair.TrimRequest{Percent: 50, Window: 8000}, 2},
		"too long":       {repair.TrimRequest{Percent: 60, TooLong: true, KeepTurns: 1}, 2},
		"one is enough":  {repair.TrimRequest{Goal: 5500}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			trimmed, err := trim(source(long()), test.request)
			if err != nil || len(trimmed.Outputs) != test.outputs {
				t.Fatalf("Trim = %d outputs, %v, want %d: %+v", len(trimmed.Outputs), err, test.outputs, trimmed)
			}
			if (len(trimmed.Plan.Ops) > 0) != (test.outputs > 0) || trimmed.After > trimmed.Before || len(trimmed.Outputs) > 0 && trimmed.After+1500 > trimmed.Before {
				t.Errorf("%d ops, %d tokens before, %d after", len(trimmed.Plan.Ops), trimmed.Before, trimmed.After)
			}
			for _, op := range trimmed.Plan.Ops {
				if op.Pre == nil || op.Post == nil {
					t.Errorf("an op of a trim creates or removes a record: %v", op.Ref)
				}
			}
			if test.outputs == 0 {
				return
			}
			after := bytes.Clone(long())
			for _, op := range trimmed.Plan.Ops {
				after = append(append(after, op.Post.Data...), '\n')
			}
			again, err := trim(source(after), test.request)
			if err != nil || len(again.Outputs) > 0 || again.Before != trimmed.After {
				t.Errorf("trimmed again: %+v, %v, want %d tokens before", again, err, trimmed.After)
			}
			if found := diagnose.New(source(after)).Findings().All(); len(found) > 0 {
				t.Errorf("findings after the trim: %v", found)
			}
		})
	}
	s := source(long())
	s.Busy = "it runs"
	if _, err := trim(s, repair.TrimRequest{Goal: 1}); !errors.Is(err, repair.ErrBusy) {
		t.Errorf("Trim of a session in use = %v, want %v", err, repair.ErrBusy)
	}
}

// TestTrimHard: with Hard, a line of text replaces each large file and the middle of each large text. The stored lines
// stay.
func TestTrimHard(t *testing.T) {
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("A", 5000) + `"}}`
	prompt := `[{"type":"text","text":"begin ` + strings.Repeat("middle ", 1000) + `end"},` + image + `]`
	data := bytes.ReplaceAll(claude.Baseline, []byte(`"content":"P3third plain"`), []byte(`"content":`+prompt))
	if bytes.Equal(data, claude.Baseline) {
		t.Fatal("no prompt is replaced")
	}
	trimmed, err := trim(source(data), repair.TrimRequest{KeepTurns: 1, Hard: true})
	if err != nil || len(trimmed.Removed) != 2 || trimmed.After+2000 > trimmed.Before {
		t.Fatalf("Trim = %+v, %v, want two removed", trimmed, err)
	}
	for _, op := range trimmed.Plan.Ops {
		data = append(append(data, op.Post.Data...), '\n')
	}
	c := diagnose.New(source(data))
	sent := strings.Join(claude.Expected(diagnose.StateOf(c)), "\n")
	if found := c.Findings().All(); len(found) > 0 || !strings.Contains(sent, "begin middle") || !strings.Contains(sent, "middle end") ||
		!strings.Contains(sent, "bytes of this text were taken out") || !strings.Contains(sent, "[image/png, 3 KB: it was taken out") {
		t.Errorf("found %v, sent %s", found, sent)
	}
	if again, err := trim(source(data), repair.TrimRequest{KeepTurns: 1, Hard: true}); err != nil || len(again.Plan.Ops) > 0 {
		t.Errorf("trimmed again: %+v, %v", again, err)
	}
}

// TestTrimFiles: no line of the transcript has a file that was removed from an old turn: neither the copy of a result
// for the screen, nor a line that a later line replaced.
func TestTrimFiles(t *testing.T) {
	small := []byte("iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGM4ISeHFTEMLQkAkL9BAbKfPiIAAAAASUVORK5CYII=")
	image := bytes.Repeat([]byte("QUJD"), 5000)
	data := bytes.ReplaceAll(claude.Baseline, small, image)
	if n := bytes.Count(data, image); n != 2 {
		t.Fatalf("the image is there %d times", n)
	}
	for line := range bytes.Lines(data) {
		if bytes.Contains(line, image) {
			data = append(bytes.Clone(data), line...) // as after an earlier edit
			break
		}
	}
	trimmed, err := trim(source(data), repair.TrimRequest{Files: true, KeepTurns: 1})
	if err != nil || len(trimmed.Plan.Ops) != 1 {
		t.Fatalf("%d ops, %v", len(trimmed.Plan.Ops), err)
	}
	o := trimmed.Plan.Ops[0]
	if !bytes.Equal(o.Pre.Data, data) || bytes.Contains(o.Post.Data, image) || len(o.Post.Data) > len(data)-4*len(image)+1000 {
		t.Errorf("%d bytes become %d, with %d images", len(data), len(o.Post.Data), bytes.Count(o.Post.Data, image))
	}
}
