package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

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

type exportAnswer struct {
	Repairs []repairJSON  `json:"repairs"`
	Export  *exportedJSON `json:"export,omitempty"` // of log --export: the written file
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
func exportLog(ctx context.Context, env *environment, f exportFlags) error {
	var r journal.Report
	export := func(w io.Writer) (err error) {
		buffered := bufio.NewWriterSize(&termjson.LineWriter{To: w}, 1<<16)
		if r, err = env.opt.Journal.Export(ctx, buffered, f.withBytes); err != nil {
			return fmt.Errorf("exporting the journal: %w", err)
		}
		return buffered.Flush()
	}
	switch {
	case f.file == "-" && env.JSON:
		return usagef("--json and --export - cannot be used together")
	case f.file == "-":
		return export(env)
	}
	if err := env.createFile(f.file, f.force, export); err != nil {
		return err
	}
	env.setAnswers(exportAnswer{[]repairJSON{}, &exportedJSON{f.file, f.withBytes, r.Entries, r.Events, r.Images, r.Head}})
	env.Printf("Wrote %s: %s, %s, %s.\nhead %s\n", term.Bold(term.Escape(f.file)), term.Count(r.Entries, "repair"), term.Count(r.Events, "event"), term.Count(r.Images, "image"), r.Head)
	if f.withBytes {
		env.Say("%s It has texts of the conversations.", term.Warn("note:"))
	}
	return nil
}
