package change

// NoSession is the session of a record that names none.
const NoSession = "unknown"
