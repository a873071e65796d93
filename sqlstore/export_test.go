package sqlstore

// LookAtLocks makes the store find other processes by their locks alone. To list the open files of all processes takes
// milliseconds, and a sweep does it thousands of times.
func (s *Store) LookAtLocks() { s.look = lockHolders }
