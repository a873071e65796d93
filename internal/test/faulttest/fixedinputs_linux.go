package faulttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A fixedInputs answers a program's calls for the time, for random bytes and for its process id: the time
// never changes, and the others are the same in each run. So equal runs leave equal bytes, and states that
// were checked before need no second recovery.
//
// A clock injected into mend would be simpler but is not enough. The bytes that a run leaves depend on every
// use of the clock and of random bytes in the process: the runtime's map order and select, bbolt's pages,
// SQLite's salts, the names of temporary files. And the tested program must be the one that users run,
// without a switch for its time. A static Go program loads no library that could replace the calls
// (LD_PRELOAD), and it reads the clock from a page of the kernel (the vDSO), without a call that seccomp
// could stop. So its auxiliary vector, which has the address of that page, is changed before the program
// reads it.
type fixedInputs struct {
	now    time.Time
	random io.Reader
}

// fixedPID is the process id that a program sees. The signals with which Go's scheduler interrupts its threads then reach no
// thread, which does no harm to a short run.
const fixedPID = 4194304 // above the largest number that Linux gives

// newFixedInputs returns the inputs for a program with these arguments. The random bytes depend on the
// arguments, because they must differ between two verbs.
func newFixedInputs(now time.Time, args []string) *fixedInputs {
	return &fixedInputs{now, rand.NewChaCha8(sha256.Sum256([]byte(strings.Join(args, "\x00"))))}
}

// answer answers a call for the time, for random bytes or for the process id instead of the kernel. It
// returns the call's result, and whether it was such a call.
func (s *fixedInputs) answer(n *notification) (val int64, answered bool, err error) {
	switch n.nr {
	case firstCall:
		return 0, false, askKernel(n.pid) // then the call itself is made
	case unix.SYS_CLOCK_GETTIME:
		var t [16]byte // struct timespec
		binary.NativeEndian.PutUint64(t[:], uint64(s.now.Unix()))
		binary.NativeEndian.PutUint64(t[8:], uint64(s.now.Nanosecond()))
		return 0, true, poke(n.pid, n.args[1], t[:])
	case unix.SYS_GETPID: // the journal has it, too
		return fixedPID, true, nil
	case unix.SYS_GETRANDOM:
		b := make([]byte, min(n.args[1], 1<<16))
		_, _ = s.random.Read(b) // never fails
		return int64(len(b)), true, poke(n.pid, n.args[0], b)
	}
	return 0, false, nil
}

// Keys of the auxiliary vector; see getauxval(3).
const (
	auxIgnore = 1
	auxRandom = 25 // the address of 16 random bytes
	auxVDSO   = 33 // the address of the vDSO
	auxEntry  = 16 // bytes, of a key and a value
)

// askKernel changes the auxiliary vector of a program that has not read it yet: the program then makes calls
// for the time and for random bytes instead of reading the vDSO, and its own random numbers have the same
// seed in each run.
func askKernel(pid uint32) error {
	vector, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return err
	}
	stack, from, err := stackOf(pid)
	if err != nil {
		return err
	}
	at := bytes.LastIndex(stack, vector)
	if at < 0 {
		return errors.New("its stack has no auxiliary vector")
	}
	for e := vector; len(e) >= auxEntry; e = e[auxEntry:] {
		switch binary.NativeEndian.Uint64(e) {
		case auxVDSO:
			binary.NativeEndian.PutUint64(e, auxIgnore)
		case auxRandom:
			if err := poke(pid, binary.NativeEndian.Uint64(e[auxEntry/2:]), make([]byte, 16)); err != nil {
				return err
			}
		}
	}
	return poke(pid, from+uint64(at), vector)
}

// stackOf returns the stack of the program and its address.
func stackOf(pid uint32) (stack []byte, from uint64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		var to uint64
		if !strings.HasSuffix(line, "[stack]\n") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			return nil, 0, err
		}
		return peek(pid, from, int(to-from)), from, nil
	}
	return nil, 0, errors.New("it has no stack")
}

// poke writes into the thread's memory.
func poke(pid uint32, addr uint64, b []byte) error {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = mem.WriteAt(b, int64(addr))
	return errors.Join(err, mem.Close())
}
