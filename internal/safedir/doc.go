// Package safedir reads and changes a folder tree that other programs change at the same time. Every name is looked up
// in an open folder, one name or a short relative path at a time, and no symbolic link is followed below the root. So
// an operation stays below the root even if another process replaces folders by links meanwhile. Reading never blocks
// on a pipe or a device.
//
// It may import internal/atomicfile and internal/ownfile. Read [OpenRoot] and [Dir.Exchange] first.
//
// On Linux and macOS one call exchanges two files. Other systems have no such call; see [Dir.Exchange].
package safedir
