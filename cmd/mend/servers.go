package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	psnet "github.com/shirou/gopsutil/v4/net"
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
