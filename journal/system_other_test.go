//go:build !linux && !darwin

package journal

func setUmask(int) int { return 0 }

func limitFileSize(string) {}
