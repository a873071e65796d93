package change

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A Hash is a SHA-256; in JSON it is hexadecimal.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, h[:]), nil
}

// UnmarshalText reads what MarshalText returns.
func (h *Hash) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return fmt.Errorf("a hash of %d characters", len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// InfosOf returns the ops without the bytes of their images.
func InfosOf(ops []Op) []OpInfo {
	infos := make([]OpInfo, len(ops))
	for i, o := range ops {
		infos[i] = OpInfo{Ref: o.Ref, Pre: DigestOf(o.Pre), Post: DigestOf(o.Post)}
	}
	return infos
}

// PlanDigest identifies the effect of ops: the same ops have the same digest, in any order, at any
// time, on any machine. It is the SHA-256, in hexadecimal, of the line "mend plan 1" and one line
// for each op, sorted by their bytes, each with a line feed at its end:
//
//	KEY PRE POST
//
// KEY is [Key] of the record. PRE and POST are - for a record that does not exist, otherwise
// SHA256:SIZE:MODE of its image: hexadecimal, decimal, and the bits of [io/fs.FileMode] in decimal,
// 0 for a row. Frozen.
func PlanDigest(ops []OpInfo) string {
	lines := make([]string, len(ops))
	for i, o := range ops {
		lines[i] = Key(o.Ref) + " " + o.Pre.text() + " " + o.Post.text() + "\n"
	}
	slices.Sort(lines)
	sum := sha256.New()
	sum.Write([]byte("mend plan 1\n"))
	for _, line := range lines {
		sum.Write([]byte(line))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (d *Digest) text() string {
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%v:%d:%d", d.SHA256, d.Size, d.Mode)
}

// Key returns the exact name of a record: KIND/PROJECT/SESSION/MESSAGE/PART. KIND is spelled as in
// the journal's format; in the other fields every byte except A-Z a-z 0-9 - . _ ~ is written as
// %XX. Frozen.
func Key(r Ref) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", r.Kind)
	for _, id := range [...]string{r.Project, r.Session, r.Message, r.Part} {
		b.WriteByte('/')
		for i := range len(id) {
			if c := id[i]; c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
	}
	return b.String()
}

// RefOfKey is the inverse of [Key].
func RefOfKey(key string) (r Ref, err error) {
	kind, rest, _ := strings.Cut(key, "/")
	ids := strings.Split(rest, "/")
	if _, err := fmt.Sscanf(kind, "%d", &r.Kind); err != nil || len(ids) != 4 {
		return r, fmt.Errorf("%q is not the key of a record", key)
	}
	for i, field := range [...]*string{&r.Project, &r.Session, &r.Message, &r.Part} {
		if *field, err = url.PathUnescape(ids[i]); err != nil {
			return r, fmt.Errorf("%q is not the key of a record: %w", key, err)
		}
	}
	if Key(r) != key {
		return r, fmt.Errorf("%q is not the key of the record %s", key, r)
	}
	return r, nil
}
