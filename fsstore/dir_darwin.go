//go:build !portable

package fsstore

// open opens the folder at rel without following any link.
func (d *dir) open(b *buffer, rel string) (*dir, error) { return d.walk(b, rel) }

// list puts the names of what stands in the folder into the buffer. Where some is not
// nil it is told of them.
func (d *dir) list(b *buffer, some func(names []string)) error {
	again, err := d.open(b, ".")
	if err != nil {
		return d.wrap("open", ".", err)
	}
	defer again.close()
	b.names, err = again.file().Readdirnames(-1)
	if some != nil {
		some(b.names)
	}
	return err
}
