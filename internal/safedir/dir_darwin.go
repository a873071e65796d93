package safedir

// attributes returns "": only Linux has these attributes.
func (d *Dir) attributes(string) string { return "" }
