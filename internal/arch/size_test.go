package arch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maxSize is what a program that imports package graph alone may weigh, built
// with -ldflags="-s -w".
const maxSize = 3_000_000

// engine is a program that reaches the engine: the linker drops what no call can
// reach, and would make an import that is not used look small.
const engine = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/weft-go/weft/graph"
)

func main() {
	b := graph.New("size")
	b.Edge(graph.Start, graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for event, err := range g.Thread("one").Stream(context.Background()) {
		fmt.Fprintln(os.Stderr, event, err)
	}
}
`

func TestProgramSize(t *testing.T) {
	t.Parallel()
	empty := programSize(t, "package main\n\nfunc main() {}\n")
	size := programSize(t, engine)
	t.Logf("a program that imports graph: %d bytes; an empty one: %d", size, empty)
	if size > maxSize {
		t.Errorf("a program that imports graph has %d bytes, want at most %d", size, maxSize)
	}
	if size <= empty {
		t.Errorf("a program that imports graph has %d bytes, an empty one %d: graph was not linked", size, empty)
	}
}

// programSize builds a program as a user would, in a module of its own.
func programSize(t *testing.T, source string) int64 {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gomod := fmt.Sprintf("module size\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", modulePath, root)
	for name, text := range map[string]string{"go.mod": gomod, "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, ".")
	cmd.Dir = dir
	// The program needs nothing from the network: the core has no dependencies.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
