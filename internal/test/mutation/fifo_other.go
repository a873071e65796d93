//go:build !unix

package mutation

func mkfifo(string, uint32) error { return ErrNoChange }
