package endpoint

import (
	"encoding/binary"
	"hash/crc32"
)

// eventMessage returns a message of an AWS event stream: lengths with their checksum, headers, payload, and
// the checksum of everything.
func eventMessage(kind string, payload []byte) []byte {
	var headers []byte
	for _, h := range [][2]string{{":event-type", kind}, {":content-type", "application/json"}, {":message-type", "event"}} {
		headers = append(headers, byte(len(h[0])))
		headers = append(headers, h[0]...)
		headers = append(headers, 7) // a string
		headers = binary.BigEndian.AppendUint16(headers, uint16(len(h[1])))
		headers = append(headers, h[1]...)
	}
	const prelude, sum = 12, 4
	out := binary.BigEndian.AppendUint32(nil, uint32(prelude+len(headers)+len(payload)+sum))
	out = binary.BigEndian.AppendUint32(out, uint32(len(headers)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, headers...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}
