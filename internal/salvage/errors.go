package salvage

import "mend/internal/fail"

// ErrNoTables says that a file has nothing of a schema: it is no database, or nothing of it is left.
var ErrNoTables error = fail.New(fail.Unusable, "", "no table can be found in it")

// ErrUTF16 says that the texts of a database are UTF-16, which no program does whose databases mend knows.
var ErrUTF16 error = fail.New(fail.Unusable, "", "its text is not UTF-8")
