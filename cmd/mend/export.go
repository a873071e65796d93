package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"mend/journal"
)

// exportFlags are the flags of log that export the journal.
type exportFlags struct {
	file             string
	withBytes, force bool
}

func (f *exportFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.file, "export", "", "write the whole journal to this `FILE` as JSON Lines, or to standard output with -")
	fl.BoolVar(&f.withBytes, "with-bytes", false, "with --export: also what the records held before and after")
	fl.BoolVar(&f.force, "force", false, "with --export: overwrite the file")
}

// exportLog writes the whole journal to a file.
func (a *app) exportLog(ctx context.Context, f exportFlags) error {
	var r journal.Report
	export := func(w io.Writer) (err error) {
		buffered := bufio.NewWriterSize(w, 1<<16)
		if r, err = a.opt.Journal.Export(ctx, buffered, f.withBytes); err != nil {
			return fmt.Errorf("exporting the journal: %w", err)
		}
		return buffered.Flush()
	}
	switch {
	case f.file == "":
		return usagef("--export is empty")
	case f.file == "-" && a.asJSON:
		return usagef("--json and --export - cannot be used together")
	case f.file == "-":
		return export(a)
	}
	if err := createFile(f.file, f.force, export); err != nil {
		return err
	}
	a.setAnswer("repairs", []repairJSON{})
	a.setAnswer("export", map[string]any{"path": f.file, "bytes": f.withBytes, "entries": r.Entries, "events": r.Events, "images": r.Images, "head": r.Head})
	a.printf("Wrote %s: %s, %s, %s.\nhead %s\n", bold(escape(f.file)), count(r.Entries, "repair"), count(r.Events, "event"), count(r.Images, "image"), r.Head)
	if f.withBytes {
		a.say("%s It has texts of the conversations.", warn("note:"))
	}
	return nil
}
