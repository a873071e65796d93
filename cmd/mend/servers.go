package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	psnet "github.com/shirou/gopsutil/v4/net"

	"mend/internal/live"
)

// defaultServer is the default address of "opencode serve".
const defaultServer = "http://127.0.0.1:4096"

// A probed is what a search for servers found.
type probed struct {
	servers []string // the addresses of OpenCode servers
	again   bool     // something did not answer: it may be a server that starts
	other   error    // if something of another user listens at a candidate address
}

// findServers looks for this user's OpenCode servers on this machine that read one of the stores; it looks
// for all if stores is nil. It sends no secrets, and nothing to servers of other users or to those for which
// skip, if not nil, returns true.
func findServers(ctx context.Context, stores []string, skip func(address string) bool) (found probed) {
	candidates, others := agentAddresses(ctx, stores)
	if len(candidates) == 0 && !others {
		candidates = []string{defaultServer}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, address := range candidates {
		if skip != nil && skip(address) {
			continue
		}
		group.Go(func() {
			err := probe(ctx, address)
			mu.Lock()
			defer mu.Unlock()
			var slow net.Error
			switch {
			case err == nil:
				found.servers = append(found.servers, address)
			case errors.Is(err, errNotOwn):
				found.other = fmt.Errorf("%s: %w", address, errNotOwn)
			case errors.As(err, &slow) && slow.Timeout(), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
				found.again = true
			}
		})
	}
	group.Wait()
	slices.Sort(found.servers)
	return found
}

// probeTimeout limits a search. OpenCode 1.18.33 never answers a request that arrives in the
// moment in which it begins to listen.
const probeTimeout = 3 * time.Second

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

// agentAddresses returns the addresses at which OpenCode processes of this user listen that read one of the
// stores, and whether there are others. Sockets that cannot be read belong to other users.
func agentAddresses(ctx context.Context, stores []string) (all []string, others bool) {
	sockets, _ := psnet.ConnectionsWithContext(ctx, "tcp")
	for _, s := range sockets {
		if s.Status != "LISTEN" || !isAgent(s.Pid) {
			continue
		}
		if stores != nil && !mayRead(s.Pid, stores) {
			others = true
			continue
		}
		host := s.Laddr.IP
		if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		all = append(all, "http://"+net.JoinHostPort(host, strconv.FormatUint(uint64(s.Laddr.Port), 10)))
	}
	slices.Sort(all)
	return slices.Compact(all), others
}

// isAgentFile reports whether the executable is OpenCode.
func isAgentFile(exe string) bool {
	name := filepath.Base(strings.TrimSuffix(exe, " (deleted)")) // Linux adds this if an update replaced the file
	return strings.TrimSuffix(name, ".exe") == "opencode"
}
