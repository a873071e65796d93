// Package ownfile opens mend's own files, such as the journal, its lock and the settings, and refuses files that
// another user or another program may have put in their place.
//
// It imports nothing of mend. Read [Open] and [Acquire] first.
//
// Basics: [Open] opens a file only if it is a regular file with one hard link, belongs to the user who
// runs mend, and is writable only by that user. [MakeDir] and [CheckDir] require the same of a folder,
// and [Acquire] locks such a file. [OpenSettings] is for files that people link to, and [OpenPlain] for
// files that may belong to other users. Only OpenSettings follows a link in the last element of the
// path. None of them waits for another process, as opening a named pipe does. A refusal is an
// [*UnsafeError] with a command that fixes the cause.
//
// Caveats: parent folders may be links to folders of the user or of root. A user who can write to these folders can
// remove mend's files, but cannot make mend write to another file. Windows has neither these owners nor these modes:
// only the type of the file is checked there.
package ownfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An UnsafeError explains why mend does not use a file or a folder, and how to fix that.
type UnsafeError struct {
	Path   string
	Why    string
	Repair string // a command
}

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %s: to fix it, run: %s", e.Path, e.Why, e.Repair)
}

// Open opens one of mend's own files, with the flags of [os.OpenFile]. A file opened for writing gets
// mode 0600, regardless of the umask. The error wraps [fs.ErrNotExist] if the file does not exist and
// the flags do not create it.
func Open(path string, flag int) (*os.File, error) {
	f, info, err := openUnlinked(path, flag, kept)
	if err != nil {
		return nil, err
	}
	if _, known := owner(info); !known || flag&(os.O_WRONLY|os.O_RDWR) == 0 || info.Mode().Perm() == ownMode {
		return f, nil
	}
	if err := f.Chmod(ownMode); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ownMode is the mode of mend's own files.
const ownMode fs.FileMode = 0o600

// OpenPlain opens a regular file of any owner for reading. It does not follow a link.
func OpenPlain(path string) (*os.File, error) {
	f, _, err := openUnlinked(path, os.O_RDONLY, plain)
	return f, err
}

// ReadAtMost reads r to its end. More than limit bytes are an error.
func ReadAtMost(r io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(data) > limit {
		return nil, fmt.Errorf("longer than %d bytes", limit)
	}
	return data, err
}

// ReadPlain reads a file opened with [OpenPlain]. More than limit bytes are an error.
func ReadPlain(path string, limit int) ([]byte, error) {
	f, err := OpenPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAtMost(f, limit)
}

// OpenSettings opens a file that the user edits for reading. It may be a link to a regular
// file of the user or of root.
func OpenSettings(path string) (*os.File, error) {
	f, _, err := open(path, os.O_RDONLY, settings)
	return f, err
}

// openUnlinked opens a file that is not a link.
func openUnlinked(path string, flag int, rule func(string, fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	f, info, err := open(path, flag|dontFollow, rule)
	if err != nil {
		// The system's own error explains little: for a pipe without a reader it is "no such device".
		if at, lerr := os.Lstat(path); lerr == nil {
			err = cmp.Or(plain(path, at), err)
		}
	}
	return f, info, err
}

func open(path string, flag int, rule func(string, fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, flag|dontWait, ownMode)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = rule(path, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// CheckPlain returns an error if path names anything but a regular file, so that it cannot be replaced.
// A free name is fine.
func CheckPlain(path string) error { return check(path, plain) }

// Check returns an error if the file at path cannot be one of mend's own. A free name is fine.
func Check(path string) error { return check(path, kept) }

// CheckEditable returns an error if a file that the user edits cannot be replaced at path: it is a
// link, has several hard links, or belongs to another user. A free name is fine.
func CheckEditable(path string) error {
	return check(path, func(path string, info fs.FileInfo) error {
		if err := settings(path, info); err != nil {
			return err
		}
		return oneName(path, info, "and only one of them would be replaced")
	})
}

// oneName returns an error for a file with several hard links; harm explains what would go wrong.
func oneName(path string, info fs.FileInfo, harm string) error {
	if n := LinkCount(info); n > 1 {
		return &UnsafeError{path, fmt.Sprintf("has %d names (hard links), %s", n, harm), replaceByCopy(path)}
	}
	return nil
}

// replaceByCopy returns the command that replaces a link by a copy of its content.
func replaceByCopy(path string) string {
	return fmt.Sprintf("cp -p %[1]s %[2]s && mv %[2]s %[1]s", Quote(path), Quote(path+".copy"))
}

func check(path string, rule func(string, fs.FileInfo) error) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return rule(path, info)
}

// plain is the rule for any file: it must be a regular file and not a link.
func plain(path string, info fs.FileInfo) error {
	unsafe := &UnsafeError{Path: path, Repair: "rm " + Quote(path)}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode&fs.ModeSymlink != 0:
		unsafe.Why = "is a symbolic link" + linkTargetText(path) + ", and mend follows no link here"
		if target, err := os.Stat(path); err == nil && target.Mode().IsRegular() {
			unsafe.Repair = replaceByCopy(path) // without the link its content would no longer be in use
		}
	case mode.IsDir():
		unsafe.Why, unsafe.Repair = "is a folder, not a regular file", moveAway(path)
	default:
		unsafe.Why = fmt.Sprintf("is %s, not a regular file", KindName(mode))
	}
	return unsafe
}

// kept is the rule for mend's own files.
func kept(path string, info fs.FileInfo) error {
	if err := plain(path, info); err != nil {
		return err
	}
	if err := oneName(path, info, "so writing it would change another file"); err != nil {
		return err
	}
	return private(path, info)
}

// private is the rule for owner and mode of mend's files and folders.
func private(path string, info fs.FileInfo) error {
	if uid, known := owner(info); known {
		return CheckOwner(path, info.Mode(), uid, os.Geteuid())
	}
	return nil
}

// CheckOwner returns an error if a file with this mode and owner cannot be one of mend's: it must
// belong to one of the owners, and be writable only by its owner.
func CheckOwner(path string, mode fs.FileMode, uid int, owners ...int) error {
	return checkRights(path, mode, 0o022, uid, owners...)
}

// checkRights returns an error if a file belongs to none of the owners, or if its mode has one of the forbidden bits.
func checkRights(path string, mode, forbidden fs.FileMode, uid int, owners ...int) error {
	if !slices.Contains(owners, uid) {
		repair := fmt.Sprintf("sudo chown %d %s", owners[0], Quote(path))
		if owners[0] == 0 {
			repair = sudoPrefix(uid)
		}
		return &UnsafeError{path, fmt.Sprintf("belongs to another user (uid %d, you are %d)%s", uid, os.Geteuid(), linkTargetText(path)), repair}
	}
	if mode&forbidden != 0 {
		return &UnsafeError{path, fmt.Sprintf("can be written by other users (%v)", mode), "chmod go-w " + Quote(path)}
	}
	return nil
}

// settings is the rule for a file that the user edits. Its group may write to it, because
// on many systems each user has a group of their own that new files belong to.
func settings(path string, info fs.FileInfo) error {
	if err := plain(path, info); err != nil {
		return err
	}
	if uid, known := owner(info); known {
		return checkRights(path, info.Mode(), 0o002, uid, os.Geteuid(), 0)
	}
	return nil
}

// KindName returns the name of the file type with its article, such as "a folder".
func KindName(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// linkTargetText returns " to " and the target of the link at path, "" if path is not a link.
func linkTargetText(path string) string {
	target, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	return " to " + target
}

// NotFolder returns the error for a path at which mend needs a folder, and where something else is.
func NotFolder(path string, mode fs.FileMode) *UnsafeError {
	return &UnsafeError{path, "is " + KindName(mode) + ", and must be a folder", moveAway(path)}
}

func moveAway(path string) string { return fmt.Sprintf("mv %s %s", Quote(path), Quote(path+".old")) }

var bare = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./:@%+=,-]*$`)

// Quote quotes the path as one word of a shell, for a command that a message suggests.
func Quote(path string) string {
	if bare.MatchString(path) {
		return path
	}
	if strings.HasPrefix(path, "-") {
		path = "." + string(filepath.Separator) + path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
