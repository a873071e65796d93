//go:build !portable

package fsstore

// open opens the folder at rel without following any link.
func (d *dir) open(rel string) (*dir, error) { return d.walk(rel) }
