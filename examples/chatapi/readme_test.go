package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-go/weft/examples/chatapi/internal/store"
)

// The curl commands of README.md work in their order, and print the output that README.md shows after
// them.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	eachStore(t, func(t *testing.T, c store.Config) {
		if c.Folder == "" {
			c.Folder = t.TempDir()
		}
		p := launch(t, c, "-pace", "1ms")
		program := filepath.Join(c.Folder, "program")
		// README.md starts the program with go run. Here, the test binary is the program.
		script := "#!/bin/sh\nexec " + os.Args[0] + " -data " + c.Folder + " -schema '" + c.Schema + "' \"$@\"\n"
		if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
		here := strings.NewReplacer("http://127.0.0.1:8083", p.url, "go run ./examples/chatapi", program)
		asked := 0
		for i, block := range blocks {
			if block[1] != "sh" || !strings.Contains(block[2], "curl") {
				continue
			}
			asked++
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", here.Replace(block[2]))
			cmd.Dir = filepath.Join("..", "..")
			cmd.Env = append(os.Environ(), asProgram+"=1", "DATABASE_URL="+c.Database)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s\n%v: %s", block[2], err, out)
			}
			rest := string(out)
			for _, want := range regexp.MustCompile(`[…\n]+`).Split(blocks[i+1][2], -1) {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("%s\ngot %s\nwant %s in it", block[2], out, want)
					break
				}
				rest = after
			}
			if strings.Contains(string(out), `"detail"`) {
				t.Errorf("%s\ngot %s", block[2], out)
			}
			if strings.Contains(block[2], "I live in Oslo") {
				p.awaitOslo(t)
			}
		}
		if asked != 4 {
			t.Errorf("%d blocks with curl", asked)
		}
		p.finish(syscall.SIGTERM)
	})
}

// awaitOslo waits until the learner has stored where Ann lives.
func (p *program) awaitOslo(t *testing.T) {
	t.Helper()
	for range 1000 {
		if strings.Contains(p.ask("ann", "", "Where do I live?").Reply, "you live in Oslo") {
			return
		}
	}
	t.Error("it was not learned where Ann lives")
}
