package journal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A journal that is not as mend left it is verified as a whole before mend writes
// to it: nothing is appended behind damage. That it is as mend left it is shown by
// the stamp in the lock file: what the system reports of journal.db when a writer
// closes it. The stamp is removed while a writer is at work, so that a crash, too,
// leads to a verification; so does a journal that was copied or restored.
//
// A stamp shows that no program has written to the file. Bytes that a disk changes
// by itself are found when they are read, and by Verify.

// verifyChanged verifies the journal, unless stamp is that of the file.
func (j *Journal) verifyChanged(stamp string) error {
	now, err := stampOf(j.file)
	if err != nil {
		return err
	}
	if now != "" && now == stamp {
		j.stamp, j.stampedAt = stamp, j.snap.txid
		return nil
	}
	return newVerifier(j, "").run()
}

// leave is the stamp for a journal that this process is done with; "" if it has to
// be verified by the next one.
func (j *Journal) leave() string {
	if j.db == nil || j.dead != nil {
		return ""
	}
	if j.stamp != "" && j.stampedAt == j.snap.txid {
		return j.stamp
	}
	if err := setTime(j.file, time.Now()); err != nil {
		return ""
	}
	stamp, err := stampOf(j.file)
	if err != nil {
		return ""
	}
	return stamp
}

// readStamp is the stamp in the lock file, "" where there is none.
func readStamp(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, pidAt, 256))
	if err != nil {
		return ""
	}
	_, stamp, _ := strings.Cut(string(b), "\n")
	return strings.TrimSuffix(stamp, "\n")
}

func formatStamp(ino uint64, size, mtime, ctime int64) string {
	return fmt.Sprintf("verified %d %d %d %d", ino, size, mtime, ctime)
}
