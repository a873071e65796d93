package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	psnet "github.com/shirou/gopsutil/v4/net"

	"mend/live"
)

// defaultServer is the default address of "opencode serve".
const defaultServer = "http://127.0.0.1:4096"

// findServers returns the addresses of this user's OpenCode servers on this machine.
// If something of another user listens at a candidate address, it also returns an
// error for one of these. It sends no secrets, and nothing to servers of other users.
func findServers(ctx context.Context) (found []string, other error) {
	candidates := agentAddresses(ctx)
	if len(candidates) == 0 {
		candidates = []string{defaultServer}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, address := range candidates {
		group.Go(func() {
			err := probe(ctx, address)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				found = append(found, address)
			} else if errors.Is(err, errNotOwn) {
				other = fmt.Errorf("%s: %w", address, errNotOwn)
			}
		})
	}
	group.Wait()
	slices.Sort(found)
	return found, other
}

// errNotOwn is returned if the system does not show that this user runs the server.
var errNotOwn = errors.New("the program that listens there may run as another user")

// probe checks that a process of this user at the address answers as an OpenCode server,
// or asks for a password.
func probe(ctx context.Context, address string) error {
	s, err := live.NewServer(address, "", "", nil)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Guard(ownSocket)
	if _, err = s.Version(ctx); errors.Is(err, live.ErrUnauthorized) {
		return nil
	}
	return err
}

// agentAddresses returns the addresses at which OpenCode processes of this user listen.
// Sockets that cannot be read belong to other users.
func agentAddresses(ctx context.Context) []string {
	sockets, _ := psnet.ConnectionsWithContext(ctx, "tcp")
	var all []string
	for _, s := range sockets {
		if s.Status != "LISTEN" || !isAgent(s.Pid) {
			continue
		}
		host := s.Laddr.IP
		if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		all = append(all, "http://"+net.JoinHostPort(host, strconv.FormatUint(uint64(s.Laddr.Port), 10)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isAgentFile reports whether the executable is OpenCode.
func isAgentFile(exe string) bool {
	name := filepath.Base(strings.TrimSuffix(exe, " (deleted)")) // Linux adds this if an update replaced the file
	return strings.TrimSuffix(name, ".exe") == "opencode"
}
