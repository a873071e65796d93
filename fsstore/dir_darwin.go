//go:build !portable

package fsstore

// open opens the folder at rel without following any link.
func (d *dir) open(b *buffer, rel string) (*dir, error) { return d.walk(b, rel) }

// local is false, which is never wrong.
func (d *dir) local() bool { return false }

// namesInto is names; it makes little use of the buffer.
func (d *dir) namesInto(b *buffer) ([]string, error) {
	again, err := d.open(b, ".")
	if err != nil {
		return nil, d.wrap("open", ".", err)
	}
	defer again.close()
	return again.file().Readdirnames(-1)
}
