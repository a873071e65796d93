package boltfile

import (
	"os"
	"time"
)

// StampOf returns "": the file is verified each time it is opened for writing.
func StampOf(*os.File) (string, error) { return "", nil }

func setTime(*os.File, time.Time) error { return nil }

// closeMapped closes a file that bbolt has locked and still maps.
func closeMapped(f *os.File) { _ = f.Close() }
