package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ownSocket checks that the sockets which may have taken a connection to the address
// are all this user's. The system writes down whose socket it is; the process behind
// it need not be visible.
func ownSocket(addr net.Addr) error {
	to, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return fmt.Errorf("%w: %w", errNotOwn, err)
	}
	owners, err := socketOwners(netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port()))
	if err != nil || len(owners) == 0 {
		return errNotOwn
	}
	for _, uid := range owners {
		if uid != os.Geteuid() {
			return errNotOwn
		}
	}
	return nil
}

// listenersAt returns the owners of the sockets that listen at the address; where
// there is none at exactly that one, of those that listen at all addresses.
func socketOwners(to netip.AddrPort) (owners []int, err error) {
	var exact, wild []int
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(table)
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			at, uid, ok := parseListener(lines.Text())
			switch {
			case !ok || at.Port() != to.Port():
			case at.Addr() == to.Addr():
				exact = append(exact, uid)
			case at.Addr().IsUnspecified() && (at.Addr().Is6() || to.Addr().Is4()):
				wild = append(wild, uid)
			}
		}
		err = lines.Err()
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	if len(exact) > 0 {
		return exact, nil
	}
	return wild, nil
}

// listen is the state of a socket that listens, as /proc/net/tcp has it.
const stateListen = "0A"

// listening reads a line of /proc/net/tcp or tcp6: number, local address, remote
// address, state, queues, timer, retransmissions, owner. It reports false for what
// is no listening socket.
func parseListener(line string) (at netip.AddrPort, uid int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[3] != stateListen {
		return at, 0, false
	}
	host, port, _ := strings.Cut(fields[1], ":")
	words, err := hex.DecodeString(host)
	if err != nil || len(words)%4 != 0 {
		return at, 0, false
	}
	for i := 0; i < len(words); i += 4 { // each word is in the byte order of the machine
		binary.NativeEndian.PutUint32(words[i:], binary.BigEndian.Uint32(words[i:]))
	}
	ip, isIP := netip.AddrFromSlice(words)
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil || !isIP {
		return at, 0, false
	}
	uid, err = strconv.Atoi(fields[7])
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)), uid, err == nil
}
