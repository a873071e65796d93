package change

// NoSession is the session id of a record that has none.
const NoSession = "unknown"
