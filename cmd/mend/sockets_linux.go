package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mend/internal/processes"
)

// ownSocket checks that this user owns all sockets that may accept a connection to the
// address. The system reports the owner of a socket even if its process is hidden.
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

// lookInterval is the time between two looks for servers.
const lookInterval = 500 * time.Millisecond

// listeners identifies the sockets of this user that listen, by port, which is much cheaper
// than to find their processes. ok is false if that is unknown.
func listeners() (ids map[string]string, ok bool) {
	ids = map[string]string{}
	err := eachListener(func(line string, at netip.AddrPort, uid int) {
		if uid == os.Geteuid() {
			fields := strings.Fields(line)
			ids[strconv.Itoa(int(at.Port()))] += fields[1] + " " + fields[9] + "\n" // the address and the inode
		}
	})
	return ids, err == nil
}

// socketOwners returns the owners of the sockets that listen at the address or, if there
// is none, of those that listen at all addresses of the port.
func socketOwners(to netip.AddrPort) (owners []int, err error) {
	var exact, wildcard []int
	err = eachListener(func(_ string, at netip.AddrPort, uid int) {
		switch {
		case at.Port() != to.Port():
		case at.Addr() == to.Addr():
			exact = append(exact, uid)
		case at.Addr().IsUnspecified() && (at.Addr().Is6() || to.Addr().Is4()):
			wildcard = append(wildcard, uid)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(exact) > 0 {
		return exact, nil
	}
	return wildcard, nil
}

// eachListener calls f for each socket that listens, with its line in /proc/net/tcp or tcp6.
func eachListener(f func(line string, at netip.AddrPort, uid int)) error {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		file, err := os.Open(table)
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			if at, uid, ok := parseListener(lines.Text()); ok {
				f(lines.Text(), at, uid)
			}
		}
		err = lines.Err()
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// stateListen is the state of a listening socket in /proc/net/tcp.
const stateListen = "0A"

// parseListener parses a line of /proc/net/tcp or tcp6: number, local address, remote
// address, state, queues, timer, retransmissions, owner, timeout, inode. ok is false if the line is not
// a listening socket.
func parseListener(line string) (at netip.AddrPort, uid int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != stateListen {
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

// isAgent reports whether the process is an OpenCode of this user. It does not use the
// library of the other systems, which reads /proc at each start of the program.
func isAgent(pid int32) bool {
	dir := fmt.Sprintf("/proc/%d", pid)
	exe, err := os.Readlink(dir + "/exe")
	if err != nil {
		return false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(status.Uid) == os.Getuid() && isAgentFile(exe)
}

// mayRead reports whether an OpenCode process has one of the stores open, or in its data folder. It returns
// true if that cannot be found out.
func mayRead(pid int32, stores []string) bool {
	p := processes.Process(pid)
	open, err := p.OpenFiles()
	env, eerr := p.Environment()
	if err != nil || eerr != nil {
		return true
	}
	data := filepath.Join(cmp.Or(env("XDG_DATA_HOME"), filepath.Join(env("HOME"), ".local/share")), "opencode")
	own, err := os.Stat(p.Path(data))
	for _, store := range stores {
		if real, err := filepath.EvalSymlinks(store); err == nil {
			store = real
		}
		if slices.Contains(open, store) {
			return true
		}
		for at := store; err == nil && at != filepath.Dir(at); at = filepath.Dir(at) {
			if info, serr := os.Stat(at); serr == nil && os.SameFile(info, own) {
				return true
			}
		}
	}
	return false
}
