package journal

import (
	"os"
	"time"
)

// stampOf is "": a journal is verified each time.
func stampOf(*os.File) (string, error) { return "", nil }

func setTime(*os.File, time.Time) error { return nil }
