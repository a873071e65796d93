package storetest

import "os"

const childKey = "MEND_TEST_CHILD"

// IsChild reports whether this process was started by RunInChild.
func IsChild() bool { return os.Getenv(childKey) != "" }
