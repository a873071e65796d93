package change

import "errors"

// NoSession is the session of a record that names none.
const NoSession = "unknown"

// ErrHidden is returned if the orphans cannot be determined, because a record that they may
// belong to cannot be read.
var ErrHidden = errors.New("something in the store cannot be read and may be what they belong to")
