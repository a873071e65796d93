package salvage

import "mend/internal/fail"

// ErrNoTables says that a file has nothing of a schema: it is no database, or nothing of it is left.
var ErrNoTables error = fail.New(fail.Unusable, "", "no table can be found in it")
