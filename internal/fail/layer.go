package fail

import (
	"fmt"

	"mend/change"
	"mend/internal/boltfile"
	"mend/journal"
	"mend/txn"
	"mend/undo"
)

// SalvageHint is what a user can do about a damaged database.
const SalvageHint = `nothing was changed. "mend salvage" brings back every row that can be read, into a new database`

// DiskHint is what a user can do about a database that the disk cannot read as a whole.
const DiskHint = `nothing was changed. Check the disk, or the network file system. "mend salvage" reads around what the disk cannot read, and brings back every other row`

// IsSalvageable reports whether an error is damage of a database for which "mend salvage" can help.
func IsSalvageable(err error) bool {
	_, hint := Classify(err)
	return hint == SalvageHint || hint == DiskHint
}

// sentinels are the errors of the layer without fields.
var sentinels = []struct {
	err  error
	code Code
	hint string
}{
	{change.ErrMalformed, Unusable, SalvageHint},
	{change.ErrInUse, Refused, "end that process. With --force mend appends the old lines again, and the process reads them after /resume"},
	{change.ErrLocked, Refused, "try again; nothing was changed"},
	{journal.ErrDamaged, Unusable, `nothing was written to it. "mend verify" shows the damage; "mend log" reads what is intact`},
	{journal.ErrFormat, Unusable, "use the version of mend that wrote it, or a later one"},
	{journal.ErrNotFound, Usage, `"mend log" lists the repairs`},
	{journal.ErrForgotten, Refused, "its undo data was deleted by forget; only the log entry is left"},
	{journal.ErrExport, Unusable, "it was cut, changed, or made by another version of mend. Export it again"},
}

// layerFailure returns the code and the hint of an error of the layer, and whether err is one. It does not
// unwrap err.
func layerFailure(err error) (Code, string, bool) {
	for _, s := range sentinels {
		if err == s.err { //nolint:errorlint // find unwraps
			return s.code, s.hint, true
		}
	}
	switch e := err.(type) { //nolint:errorlint // find unwraps
	case *change.SizeError:
		return Unusable, "copy the store to a machine with more memory, and name it there with --store PATH", true
	case *change.DamagedError:
		return Unusable, SalvageHint, true
	case *change.LinkedError:
		return Refused, "nothing was changed. When that is done, run the command again", true
	case *change.ConflictError:
		return Conflict, conflictHint(e), true
	case *txn.ConflictedError:
		return Conflict, fmt.Sprintf("\"mend log %[1]s\" shows the conflict, \"mend recover %[1]s\" resolves it", e.Entry.ID), true
	case *boltfile.LockedError:
		return Refused, "another mend is running; try again when it is done", true
	case *journal.AmbiguousError, *undo.NameError:
		return Usage, "", true
	case *txn.PendingError:
		return Pending, `run "mend recover"; every byte needed is in the journal`, true
	case txn.UndecidedError:
		return Pending, fmt.Sprintf(`when that is repaired, run "mend recover"; or leave all as it is now: mend recover %s --keep`, e[0].Entry.ID), true
	}
	return 0, "", false
}

func conflictHint(e *change.ConflictError) string {
	hint := ". To undo only what is unchanged: --only ID. To overwrite the newer changes, which the journal keeps: --force"
	if len(e.Conflicts) > 0 && len(e.Conflicts[0].Later) > 0 {
		hint = ". Undo the later change first: mend undo " + e.Conflicts[0].Later[0] + hint
	}
	return "nothing was changed" + hint
}
