package repairs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/termjson"
	"mend/journal"
)

// exportFlags are the flags of log that export the journal.
type exportFlags struct {
	file             string
	withBytes, force bool
}

func (f *exportFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.file, "export", "", "write the whole journal to this `FILE` as JSON Lines, or to standard output with -")
	fl.BoolVar(&f.withBytes, "with-bytes", false, "with --export: also the contents before and after")
	fl.BoolVar(&f.force, "force", false, "with --export: overwrite the file")
}

// An ExportAnswer is the answer of log.
type ExportAnswer struct {
	Repairs []show.RepairJSON `json:"repairs"`
	Export  *exportedJSON     `json:"export,omitempty"` // of log --export: the written file
}

// An exportedJSON is the file that was written.
type exportedJSON struct {
	Path    string `json:"path"`
	Bytes   bool   `json:"bytes"` // it has the images
	Entries int    `json:"entries"`
	Events  int    `json:"events"`
	Images  int    `json:"images"`
	Head    string `json:"head"`
}

// exportLog writes the whole journal to a file.
func exportLog(ctx context.Context, env *frame.Env, f exportFlags) error {
	var r journal.Report
	export := func(w io.Writer) (err error) {
		buffered := bufio.NewWriterSize(&termjson.LineWriter{To: w}, 1<<16)
		if r, err = env.Opt.Journal.Export(ctx, buffered, f.withBytes); err != nil {
			return fmt.Errorf("exporting the journal: %w", err)
		}
		return buffered.Flush()
	}
	switch {
	case f.file == "-" && env.JSON:
		return frame.Usagef("--json and --export - cannot be used together")
	case f.file == "-":
		return export(env)
	}
	if err := env.CreateFile(f.file, f.force, export); err != nil {
		return err
	}
	env.SetAnswers(ExportAnswer{[]show.RepairJSON{}, &exportedJSON{f.file, f.withBytes, r.Entries, r.Events, r.Images, r.Head}})
	env.Printf("Wrote %s: %s, %s, %s.\nhead %s\n", term.Bold(term.Escape(f.file)), term.Count(r.Entries, "repair"), term.Count(r.Events, "event"), term.Count(r.Images, "image"), r.Head)
	if f.withBytes {
		env.Say("%s It has texts of the conversations.", term.Warn("note:"))
	}
	return nil
}

// isExport reports whether the user names a file and no id: ids of repairs and operations have no dot and no slash.
func isExport(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && strings.ContainsAny(name, "./")
}

// An exportedEntry is an entry of an export.
type exportedEntry struct {
	change.Entry
	journal *mend.Journal
}

// logExports is log of exports instead of the journal: of the repair with an id, or of the entries that q selects.
func logExports(ctx context.Context, env *frame.Env, id string, files []string, q journal.Query) (left error) {
	dir, err := os.MkdirTemp("", "mend-log-")
	if err != nil {
		return err
	}
	defer func() { left = errors.Join(left, os.RemoveAll(dir)) }()
	var all []exportedEntry
	for i, file := range files {
		l := mend.OpenJournal(filepath.Join(dir, strconv.Itoa(i)))
		es, err := readExport(ctx, l, file, id, q)
		switch {
		case errors.Is(err, journal.ErrNotFound):
			continue
		case err != nil && ctx.Err() == nil:
			left = env.SkipStore(ctx, left, fmt.Errorf("reading %s: %w", file, err))
			continue
		}
		for _, e := range es {
			all = append(all, exportedEntry{e, l})
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case id != "" && len(all) == 0 && left == nil:
		return fail.New(fail.Usage, "", "%q: no export has such a repair", id)
	case id != "":
		return fail.Worst(left, showExported(env, all))
	}
	slices.SortStableFunc(all, func(a, b exportedEntry) int { return b.Time.Compare(a.Time) })
	if q.Limit > 0 {
		all = all[:min(len(all), q.Limit)]
	}
	return fail.Worst(left, printExported(env, all))
}

// readExport makes the journal of an export in a folder, and returns the entries that the user asks for.
func readExport(ctx context.Context, l *mend.Journal, file, id string, q journal.Query) ([]change.Entry, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err = journal.ReadExport(ctx, f, l.Dir, ""); err != nil {
		return nil, err
	}
	if id != "" {
		return l.Find(id)
	}
	return l.Log(q)
}

// printExported prints a line for each entry, with who made it and where.
func printExported(env *frame.Env, all []exportedEntry) error {
	list, rows, hosts := []show.RepairJSON{}, [][]string{}, map[string]*mend.Journal{}
	twice := map[string]bool{} // ids that two journals have
	for _, e := range all {
		twice[e.ID] = twice[e.ID] || hosts[e.ID] != nil && hosts[e.ID] != e.journal
		hosts[e.ID] = e.journal
	}
	for _, e := range all {
		by := change.Actor{}
		if e.Actor != nil {
			by = *e.Actor
		}
		list = append(list, show.EntryJSON(e.Entry, nil))
		row := show.EntryRow(env.Terminal, e.Entry, "")
		if twice[e.ID] {
			row[0] += "@" + term.OneLine(cmp.Or(by.Host, "unknown"), 40)
		}
		rows = append(rows, slices.Insert(row, 3, show.ActorName(&by)))
	}
	env.SetAnswers(show.RepairsAnswer{Repairs: list})
	return env.Paged(func() error {
		defer env.Buffer()()
		env.PrintRows(rows, "")
		if len(rows) == 0 {
			env.Printf("No such repairs.\n")
		}
		return nil
	})
}

// showExported shows all about the repairs with an id, which several journals may have.
func showExported(env *frame.Env, all []exportedEntry) error {
	list := []show.RepairJSON{}
	return env.Paged(func() error {
		for _, x := range all {
			e, ops, err := x.journal.Show(x.ID)
			if err != nil { // the export has no images
				e, ops = x.Entry, nil
			}
			related, err := x.journal.Related([]change.Entry{e})
			if err != nil {
				return err
			}
			r := show.EntryJSON(e, ops)
			r.Relate(related[e.ID])
			list = append(list, r)
			show.EntryHead(env.Terminal, e)
			show.EntryList(env.Terminal, "Follows", show.RelatedTexts(related[e.ID].Follows))
			show.EntryList(env.Terminal, "Again", show.RelatedTexts(related[e.ID].Again))
			show.Changes(env.Terminal, e, ops)
			env.Printf("\n")
		}
		env.SetAnswers(show.RepairsAnswer{Repairs: list})
		return nil
	})
}
