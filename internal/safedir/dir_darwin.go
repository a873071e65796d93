//go:build !portable

package safedir

// open opens the folder at rel without following any link.
func (d *Dir) open(rel string) (*Dir, error) { return d.walk(rel) }

// List passes the names in the folder to yield if it is not nil, else keeps them in
// the buffer.
func (d *Dir) List(b *Buffer, yield func(names []string)) error {
	again, err := d.open(".")
	if err != nil {
		return d.wrap("open", ".", err)
	}
	defer again.Close()
	b.names, err = again.File().Readdirnames(-1)
	if yield != nil {
		yield(b.names)
	}
	return err
}

// attributes is for Linux.
func (d *Dir) attributes(string) string { return "" }
