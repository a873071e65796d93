//go:build !linux

package main

import (
	"net"
	"os/user"
	"strconv"
	"time"

	psnet "github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// isAgent reports whether the process is an OpenCode of this user.
func isAgent(pid int32) bool {
	p, err := process.NewProcess(pid)
	if err != nil {
		return false
	}
	exe, _ := p.Exe()
	owner, err := p.Username()
	me, meErr := user.Current()
	return err == nil && meErr == nil && owner == me.Username && isAgentFile(exe)
}

// mayRead returns true: this system does not show what a process reads.
func mayRead(int32, []string) bool { return true }

// lookInterval is the time between two looks for servers. Each looks at all processes.
const lookInterval = 15 * time.Second

// listeners identifies the sockets of this user that listen. Here that is unknown.
func listeners() (ids map[string]string, ok bool) { return nil, false }

// ownSocket checks that an OpenCode of this user listens at exactly this address. A
// socket for all addresses is not enough: another one may accept the connection.
func ownSocket(addr net.Addr) error {
	sockets, _ := psnet.Connections("tcp")
	for _, s := range sockets {
		listening := net.JoinHostPort(s.Laddr.IP, strconv.FormatUint(uint64(s.Laddr.Port), 10))
		if s.Status == "LISTEN" && listening == addr.String() && isAgent(s.Pid) {
			return nil
		}
	}
	return errNotOwn
}
