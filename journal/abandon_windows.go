package journal

import "os"

// abandon closes a file that bbolt has locked and will not let go.
func abandon(f *os.File) { _ = f.Close() }
