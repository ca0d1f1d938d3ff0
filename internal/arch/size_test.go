package arch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxSize is the maximum size of a program that imports only package graph, in bytes. It also
// bounds a stripped program that runs a graph.
const maxSize = 3_000_000

const tooLarge = "if the program grew by more than the new code, look for a package variable: the linker keeps each function that its initial value calls"

const emptyProgram = "package main\n\nfunc main() {}\n"

// importingProgram imports package graph and calls none of its functions.
const importingProgram = "package main\n\nimport _ \"github.com/weft-go/weft/graph\"\n\nfunc main() {}\n"

// runningProgram runs a graph. It is needed since the linker omits the engine from a program
// that does not call it.
const runningProgram = `package main

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

func TestProgramThatImportsGraphIsSmall(t *testing.T) {
	t.Parallel()
	empty := programSize(t, emptyProgram, "-ldflags=")
	size := programSize(t, importingProgram, "-ldflags=")
	t.Logf("a program that imports graph: %d bytes; an empty program: %d bytes", size, empty)
	assert.LessOrEqual(t, size, int64(maxSize), tooLarge)
	assert.Greater(t, size, empty, "graph was not linked")
}

func TestStrippedProgramThatRunsAGraphIsSmall(t *testing.T) {
	t.Parallel()
	size := programSize(t, runningProgram, "-ldflags=-s -w")
	t.Logf("a stripped program that runs a graph: %d bytes", size)
	assert.LessOrEqual(t, size, int64(maxSize), tooLarge)
	assert.Greater(t, size, programSize(t, importingProgram, "-ldflags=-s -w"), "the engine was not linked")
}

// programSize builds a program in a new module, like a user. It returns the size of the
// program in bytes.
func programSize(t *testing.T, source, flag string) int64 {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	gomod := fmt.Sprintf("module size\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", modulePath, root)
	for name, text := range map[string]string{"go.mod": gomod, "main.go": source} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	binary := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", flag, "-o", binary, ".")
	cmd.Dir = dir
	// Without a proxy the build fails if the core depends on another module.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go build: %s", out)
	info, err := os.Stat(binary)
	require.NoError(t, err)
	return info.Size()
}
