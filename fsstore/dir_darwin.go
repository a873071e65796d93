//go:build !portable

package fsstore

// open opens the folder at rel without following any link.
func (d *dir) open(rel string) (*dir, error) { return d.walk(rel) }

// names lists what stands in the folder.
func (d *dir) names() ([]string, error) {
	again, err := d.open(".")
	if err != nil {
		return nil, d.wrap("open", ".", err)
	}
	defer again.close()
	return again.file().Readdirnames(-1)
}
