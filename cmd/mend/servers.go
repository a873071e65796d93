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

// defaultServer is where "opencode serve" listens unless it is told otherwise.
const defaultServer = "http://127.0.0.1:4096"

// findServers lists the addresses of this user's OpenCode servers that run here, and
// the first error of an address that was not one. Nothing secret is sent to find
// them, and nothing at all to a server of another user.
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

// errNotOwn says that the system does not show a server to be this user's.
var errNotOwn = errors.New("what listens there is not known to run as this user")

// probe checks that an OpenCode server of this user, or something of this user that
// wants a password first, answers at the address.
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

// listeners are the addresses at which an OpenCode listens, as far as this user
// may see: what cannot be read is somebody else's.
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

// isAgentFile reports whether a program in that file is an OpenCode.
func isAgentFile(exe string) bool {
	name := filepath.Base(strings.TrimSuffix(exe, " (deleted)")) // one that an update has replaced is noted so
	return strings.TrimSuffix(name, ".exe") == "opencode"
}
