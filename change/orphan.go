package change

import "mend/internal/fail"

// NoSession is the session of a record that names none.
const NoSession = "unknown"

// ErrHidden says that it is not known which records are orphans: something in the store
// that they may belong to cannot be read.
var ErrHidden error = fail.New(fail.Refused, "make it readable, then try again; nothing was changed",
	"something in the store cannot be read and may be what they belong to")
