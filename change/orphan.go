package change

import "errors"

// NoSession is the session of a record that names none.
const NoSession = "unknown"

// ErrHidden says that it is not known which records are orphans: something in the store
// that they may belong to cannot be read.
var ErrHidden = errors.New("something in the store cannot be read and may be what they belong to")
