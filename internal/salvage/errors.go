package salvage

import "mend/internal/fail"

// ErrNoTables means that a file has no schema: it is not a database, or nothing of it is left.
var ErrNoTables error = fail.New(fail.Unusable, "", "no table can be found in it")

// ErrUTF16 means that the texts of a database are UTF-16, which no supported program uses.
var ErrUTF16 error = fail.New(fail.Unusable, "", "its text is not UTF-8")
