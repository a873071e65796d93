package scancache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"

	"mend/repair"
	"mend/session"
)

// contents is what a file holds.
type contents struct {
	build    string   // of mend, that made it
	settings string   // for which the results are valid
	summary  *Summary // of the last whole scan; nil if there is none

	// State is the stamp of the store in which it has the sessions and the orphans; the
	// zero stamp if they are not known.
	state    [sha256.Size]byte
	sound    [sha256.Size]byte // the stamp with which the whole file was found sound
	sessions []session.Head    // without their stray entries
	orphans  []session.Ref

	results map[sessionKey]*Result
}

// format is what a file begins with. Its number is raised with every change of the format.
const format = "mend scan 5\n"

var errDamaged = errors.New("the cache is damaged")

// appendBlock appends a block with its length and its checksum.
func appendBlock(data, block []byte) []byte {
	data = binary.LittleEndian.AppendUint32(data, uint32(len(block)))
	data = binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(block))
	return append(data, block...)
}

// cutBlock returns the first block of data and what follows it.
func cutBlock(data []byte) (block, rest []byte, err error) {
	const header = 8
	if len(data) < header {
		return nil, nil, errDamaged
	}
	n, sum := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
	if data = data[header:]; uint64(n) > uint64(len(data)) || crc32.ChecksumIEEE(data[:n]) != sum {
		return nil, nil, errDamaged
	}
	return data[:n], data[n:], nil
}

// encode returns the bytes of a file.
func encode(c *contents) []byte {
	var w coder
	w.contents(c)
	return appendBlock([]byte(format), w.data)
}

// decode returns what the bytes of a file hold, or an error if they are not all that
// was written.
func decode(data []byte) (*contents, error) {
	data, ok := bytes.CutPrefix(data, []byte(format))
	if !ok {
		return nil, errDamaged
	}
	first, data, err := cutBlock(data)
	if err != nil {
		return nil, err
	}
	c, r := &contents{}, coder{reading: true, data: first, text: string(first)}
	if r.contents(c); r.damaged || len(r.data) > 0 {
		return nil, errDamaged
	}
	for len(data) > 0 {
		var forgotten []byte
		if forgotten, data, err = cutBlock(data); err != nil {
			return nil, err
		}
		c.forget(string(forgotten))
	}
	return c, nil
}

// forget drops what is known of a session and of the store as a whole.
func (c *contents) forget(id string) {
	c.summary, c.state, c.sessions, c.orphans = nil, [sha256.Size]byte{}, nil, nil
	maps.DeleteFunc(c.results, func(key sessionKey, _ *Result) bool { return key.id == id })
}

// A keyedResult is a result with the session that it is of.
type keyedResult struct {
	key sessionKey
	Result
}

// contents reads or writes what a block holds.
func (c *coder) contents(v *contents) {
	codeText(c, &v.build)
	codeText(c, &v.settings)
	known := v.summary != nil
	if codeBool(c, &known); known {
		if c.reading {
			v.summary = &Summary{}
		}
		c.summary(v.summary)
	}
	c.sum(&v.state)
	c.sum(&v.sound)
	codeList(c, &v.sessions, 8, c.head)
	codeList(c, &v.orphans, 5, c.ref)

	var results []keyedResult
	for _, key := range slices.SortedFunc(maps.Keys(v.results), sessionKey.compare) {
		results = append(results, keyedResult{key, *v.results[key]})
	}
	codeList(c, &results, sha256.Size, c.result)
	if c.reading {
		v.results = make(map[sessionKey]*Result, len(results))
		for i := range results {
			v.results[results[i].key] = &results[i].Result
		}
	}
}

// summary leaves out the time, which is that of the file.
func (c *coder) summary(v *Summary) {
	codeText(c, &v.Damage)
	for _, n := range []*int{&v.Sessions, &v.Broken, &v.Latent, &v.Busy, &v.Failed} {
		codeInt(c, n)
	}
	codeList(c, &v.Worst, 4, func(s *SummarySession) {
		c.texts(&s.ID, &s.Title, &s.Directory)
		codeInt(c, &s.Updated)
	})
}

func (c *coder) head(v *session.Head) {
	c.texts(&v.ID, &v.Project, &v.Directory, &v.Title, &v.Version)
	codeInt(c, &v.Created)
	codeInt(c, &v.Updated)
	c.ref(&v.Ref)
}

func (c *coder) ref(v *session.Ref) {
	codeInt(c, &v.Kind)
	c.texts(&v.Project, &v.Session, &v.Message, &v.Part)
}

func (c *coder) result(v *keyedResult) {
	c.texts(&v.key.folder, &v.key.project, &v.key.id)
	c.sum(&v.Stamp)
	codeInt(c, &v.From)
	codeInt(c, &v.Until)
	codeBool(c, &v.Idle)
	c.texts(&v.Settings, &v.Provider)
	codeBool(c, &v.Thinking)
	codeList(c, &v.Diagnoses, minDiagnosis, c.diagnosis)
}

func (c *coder) diagnosis(v *repair.Diagnosis) {
	codeText(c, &v.Rule)
	codeText(c, &v.Class)
	codeInt(c, &v.Severity)
	c.ref(&v.Ref)
	c.texts(&v.Message, &v.Why, &v.Text, &v.Fix, &v.Loses, &v.WhyNot)
}

// minDiagnosis is what a diagnosis takes at least, in bytes: it names its rule and its record, and
// says why. It bounds the memory that damaged contents can take.
const minDiagnosis = 32
