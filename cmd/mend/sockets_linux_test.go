package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"mend/internal/test/storetest"
)

// otherUID is a user without files or processes.
const otherUID = 65534

// otherUsersSocket listens on a free port of loopback with a socket of another user.
func otherUsersSocket(t *testing.T, address string) net.Listener {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a socket of another user")
	}
	type result struct {
		l   net.Listener
		err error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, otherUID, 0, 0)
		l, err := net.Listen("tcp", address)
		made <- result{l, err}
	}()
	r := <-made
	if r.err != nil {
		t.Skip(r.err)
	}
	t.Cleanup(func() { _ = r.l.Close() })
	return r.l
}

// TestStrangersServer checks that a server of another user gets no request (found fault
// 13.1).
func TestStrangersServer(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"} {
		l := otherUsersSocket(t, address)
		go func() {
			_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				t.Errorf("%s %s, password %q", r.Method, r.URL, r.Header.Get("Authorization"))
				_, _ = w.Write([]byte(`{"healthy":true,"version":"1"}`))
			}))
		}()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		hosts := []string{"127.0.0.1", "localhost"}
		if address[0] == '[' {
			hosts = []string{"[::1]"}
		}
		for _, host := range hosts {
			if err := probe(t.Context(), "http://"+host+":"+port); !errors.Is(err, errNotOwn) {
				t.Errorf("probe of %s at %s = %v, want %v", host, l.Addr(), err, errNotOwn)
			}
		}
	}
}

// TestOwnSocket checks sockets of this user, and lines of the system's table of sockets.
func TestOwnSocket(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Log(err) // no IPv6
			continue
		}
		t.Cleanup(func() { _ = l.Close() })
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := ownSocket(conn.RemoteAddr()); err != nil {
			t.Errorf("a socket of this user at %s: %v", l.Addr(), err)
		}
		if err := ownSocket(conn.LocalAddr()); !errors.Is(err, errNotOwn) {
			t.Errorf("an address without a listener: %v", err)
		}
	}
	for line, want := range map[string]string{
		"   0: 0100007F:1000 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0":                                                 "127.0.0.1:4096",
		"   0: 0000000000000000FFFF00000100007F:1000 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0": "127.0.0.1:4096",
		"   1: 00000000000000000000000001000000:1000 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0": "[::1]:4096",
		"   2: 0100007F:1000 0100007F:2000 01 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0":                                                 "",
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode":                                                              "",
		"":                                 "",
		"   3: 0100007F 0 0A 0 0 0 1000 0": "",
		"   3: xx:1000 0 0A 0 0 0 1000 0":  "",
	} {
		at, uid, ok := parseListener(line)
		if ok != (want != "") || ok && (at.String() != want || uid != 1000) {
			t.Errorf("parseListener(%q) = %v, %d, %t, want %s of 1000", line, at, uid, ok, want)
		}
	}
}

// A server of another home is not followed.
func TestMayRead(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	home, elsewhere := storetest.FastDir(t), storetest.FastDir(t)
	database := filepath.Join(home, ".local/share/opencode/opencode.db")
	tree := filepath.Join(elsewhere, "opencode/storage")
	if err := errors.Join(os.MkdirAll(filepath.Dir(database), 0o755), os.MkdirAll(tree, 0o755), os.WriteFile(database, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(storetest.FastDir(t), "opencode")
	storetest.CopyProgram(t, cat, program)
	for _, c := range []struct {
		env    []string
		stores []string
		want   bool
	}{
		{[]string{"HOME=" + home}, []string{database}, true},
		{[]string{"HOME=" + home}, []string{tree}, false},
		{[]string{"HOME=" + home}, []string{tree, database}, true},
		{[]string{"HOME=" + home, "XDG_DATA_HOME=" + elsewhere}, []string{database}, false},
		{[]string{"HOME=" + home, "XDG_DATA_HOME=" + elsewhere}, []string{tree}, true},
		{[]string{"HOME=/nowhere"}, []string{database}, false},
	} {
		cmd := exec.Command(program)
		cmd.Env = c.env
		end := storetest.StartCat(t, cmd)
		if got := mayRead(int32(cmd.Process.Pid), c.stores); got != c.want {
			t.Errorf("%v: mayRead(%v) = %v, want %v", c.env, c.stores, got, c.want)
		}
		end()
	}
}
