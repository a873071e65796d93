// Command mutants changes the operators of the core, one at a time, with gremlins, and runs the tests of their packages. It
// prints each change that no test detects, unless survivors.txt has a reason for it.
//
// It imports nothing of mend.
//
//	go run ./internal/test/mutants [-time 6h] [PACKAGE…]
//
// It fails if the tests of a package kill fewer than 85 % of its mutants, or if a mutant survives that survivors.txt does not
// name. Mutants that no test runs, and mutants that time out, count as survivors.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/cover"
)

// packages are the measured packages, each with a pattern of files to leave out.
var packages = []struct{ name, except string }{
	{"undo", ""},
	{"txn", ""},
	{"change", ""},
	{"linestore", ""},
	{"fsstore", ""},
	{"journal", ""},
	{"sqlstore", `sqlstore/(archive|exchange|rows|trees|reclaim|salvage)\.go`}, // whole files beside the database
	{"repair", ""},
}

// least is the minimum percentage of a package's mutants that its tests kill.
const least = 85

const realGo = "MEND_MUTANTS_GO" // the path of the real go command: the go in PATH is this program

func main() {
	if filepath.Base(os.Args[0]) == "go" {
		fmt.Fprintln(os.Stderr, runAsGo(os.Args[1:]))
		os.Exit(1)
	}
	limit := flag.Duration("time", 6*time.Hour, "stop after this `time`")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	if err := run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, wanted []string) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	known, err := readSurvivors()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "go"))
	}
	if err != nil {
		return err
	}
	tool, err := exec.CommandContext(ctx, "go", "tool", "-modfile=tools.mod", "-n", "gremlins").Output()
	if err != nil {
		return fmt.Errorf("building gremlins: %w", err)
	}
	var errs []error
	for _, p := range packages {
		if len(wanted) > 0 && !slices.Contains(wanted, p.name) {
			continue
		}
		out := filepath.Join(dir, p.name+".json")
		args := []string{"unleash", "./" + p.name, "--workers", "1", "--timeout-coefficient", "20", "-s", "-o", out}
		if p.except != "" {
			args = append(args, "-E", p.except)
		}
		cmd := exec.CommandContext(ctx, strings.TrimSpace(string(tool)), args...)
		goPath, err := exec.LookPath("go")
		if err != nil {
			return err
		}
		// By default go test would also vet each mutant.
		cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), realGo+"="+goPath, "GOFLAGS=-trimpath -vet=off")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, errors.Join(err, ctx.Err())))
			continue
		}
		errs = append(errs, report(p.name, out, known))
	}
	return errors.Join(errs...)
}

// runAsGo replaces the go command for gremlins. It adds the conditions of cases to a coverage profile: the Go
// tool counts only the statements after them, and gremlins changes no code that it considers uncovered.
func runAsGo(args []string) error {
	real := os.Getenv(realGo)
	i := slices.Index(args, "-coverprofile")
	if i < 0 {
		return syscall.Exec(real, append([]string{real}, args...), os.Environ())
	}
	cmd := exec.Command(real, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	if err := addCases(args[i+1]); err != nil {
		return err
	}
	os.Exit(0)
	return nil
}

// addCases adds the conditions of each case to a profile, with the count of the block before its switch.
func addCases(profile string) error {
	files, err := cover.ParseProfiles(profile)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(profile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for _, file := range files {
		fset := token.NewFileSet()
		_, path, _ := strings.Cut(file.FileName, "/") // the name starts with the module
		f, perr := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		err = errors.Join(err, perr)
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SwitchStmt)
			if !ok || !isCovered(file.Blocks, fset.Position(s.Pos())) {
				return true
			}
			for _, c := range s.Body.List {
				if list := c.(*ast.CaseClause).List; len(list) > 0 {
					from, to := fset.Position(list[0].Pos()), fset.Position(list[len(list)-1].End())
					_, werr := fmt.Fprintf(out, "%s:%d.%d,%d.%d 1 1\n", file.FileName, from.Line, from.Column, to.Line, to.Column)
					err = errors.Join(err, werr)
				}
			}
			return true
		})
	}
	return errors.Join(err, out.Close())
}

// isCovered reports whether a block that ran has the position.
func isCovered(blocks []cover.ProfileBlock, at token.Position) bool {
	return slices.ContainsFunc(blocks, func(b cover.ProfileBlock) bool {
		after := at.Line > b.StartLine || at.Line == b.StartLine && at.Column >= b.StartCol
		before := at.Line < b.EndLine || at.Line == b.EndLine && at.Column <= b.EndCol
		return b.Count > 0 && after && before
	})
}

// A survivor is a mutant that no test kills: its file, its kind and its line.
type survivor struct{ file, kind, line string }

const listName = "internal/test/mutants/survivors.txt"

// readSurvivors returns the known survivors with their reasons.
func readSurvivors() (map[survivor]string, error) {
	data, err := os.ReadFile(listName)
	if err != nil {
		return nil, err
	}
	known := map[survivor]string{}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) == 4 && !strings.HasPrefix(line, "#") {
			known[survivor{f[0], f[1], f[2]}] = f[3]
		} else if len(f) > 1 {
			return nil, fmt.Errorf("%s: %q has %d columns, want 4", listName, line, len(f))
		}
	}
	return known, nil
}

// report prints gremlins' results for a package.
func report(name, file string, known map[survivor]string) error {
	var result struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type, Status string
				Line, Column int
			}
		}
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	if err != nil {
		return err
	}
	count, fresh := map[string]int{}, 0
	for _, f := range result.Files {
		path := f.Name
		if !strings.Contains(path, "/") {
			path = name + "/" + path
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := strings.Split(string(source), "\n")
		for _, m := range f.Mutations {
			if count[m.Status]++; m.Status == "KILLED" || m.Status == "NOT VIABLE" {
				continue
			}
			s := survivor{path, m.Type, strings.TrimSpace(lines[m.Line-1])}
			if known[s] == "" {
				fresh++
				fmt.Printf("%s:%d:%d\t%s\t%s\t%s\n", path, m.Line, m.Column, m.Status, m.Type, s.line)
			}
		}
	}
	killed := count["KILLED"]
	all := killed + count["LIVED"] + count["TIMED OUT"] + count["NOT COVERED"]
	percent := 100 * killed / max(all, 1)
	fmt.Printf("%-10s %4d mutants: %4d killed (%d %%), %d lived, %d not covered, %d timed out; %d of these without a reason\n",
		name, all, killed, percent, count["LIVED"], count["NOT COVERED"], count["TIMED OUT"], fresh)
	if percent < least || fresh > 0 {
		return fmt.Errorf("%s: %d %% are killed, want %d; %d survivors without a reason", name, percent, least, fresh)
	}
	return nil
}
