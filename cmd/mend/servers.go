package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	psnet "github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// defaultServer is where "opencode serve" listens unless it is told otherwise.
const defaultServer = "http://127.0.0.1:4096"

// findServers lists the addresses of the OpenCode servers that run here. Nothing
// secret is sent to find them.
func findServers(ctx context.Context) []string {
	candidates := listeners(ctx)
	if len(candidates) == 0 {
		candidates = []string{defaultServer}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var mu sync.Mutex
	var found []string
	var group sync.WaitGroup
	for _, address := range candidates {
		group.Go(func() {
			if isServer(ctx, address) {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, address)
			}
		})
	}
	group.Wait()
	slices.Sort(found)
	return found
}

// listeners are the addresses at which an OpenCode listens, as far as this user
// may see: what cannot be read is somebody else's.
func listeners(ctx context.Context) []string {
	sockets, _ := psnet.ConnectionsWithContext(ctx, "tcp")
	var all []string
	for _, s := range sockets {
		if s.Status != "LISTEN" || !isAgent(ctx, s.Pid) {
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

// isAgent reports whether the process is an OpenCode of this user.
func isAgent(ctx context.Context, pid int32) bool {
	p, err := process.NewProcessWithContext(ctx, pid)
	if err != nil {
		return false
	}
	exe, _ := p.ExeWithContext(ctx)
	owner, err := p.UsernameWithContext(ctx)
	me, meErr := user.Current()
	name := strings.TrimSuffix(filepath.Base(strings.TrimSuffix(exe, " (deleted)")), ".exe") // one that an update has replaced is noted so
	return err == nil && meErr == nil && owner == me.Username && name == "opencode"
}

// isServer reports whether an OpenCode server, or something that wants a password
// first, answers at the address.
func isServer(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/global/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var health struct {
		Healthy bool `json:"healthy"`
	}
	_ = json.NewDecoder(io.LimitReader(resp.Body, 4096)).Decode(&health)
	return health.Healthy || resp.StatusCode == http.StatusUnauthorized
}
