package config

// former has the settings of earlier versions, each with the text of the note that they get.
var former = map[string]string{
	"desktopNotifications": "mend shows nothing on the desktop",
}

// noteFormer adds the note about a setting of an earlier version, and reports whether the name is one.
func (c *Config) noteFormer(name string) bool {
	text, ok := former[name]
	if ok {
		c.note("the setting %s has no effect any more: %s", name, text)
	}
	return ok
}
