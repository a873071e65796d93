package change

// NoSession stands for the session id of records and plans that belong to no session.
const NoSession = "unknown"
