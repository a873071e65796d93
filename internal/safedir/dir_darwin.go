package safedir

// attributes is for Linux.
func (d *Dir) attributes(string) string { return "" }
