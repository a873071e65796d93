package session

import "errors"

// Unknown stands for the session of a record that does not say of which it is.
const Unknown = "unknown"

// ErrHidden says that it cannot be told which records are orphans: something in
// the store cannot be looked at, and may be what they belong to.
var ErrHidden = errors.New("something in the store cannot be looked at and may be what they belong to")
