package journal

import "os"

// syncDir does nothing: Windows has no call for it, and NTFS journals names.
func syncDir(string) error { return nil }

// abandon closes a file that bbolt has locked and will not let go.
func abandon(f *os.File) { _ = f.Close() }
