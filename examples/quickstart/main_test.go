package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The first build decides how long a stranger waits. Package net/http with TLS alone would
// cost more than the rest of the command beside SQLite.
func TestLinksNoNetwork(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	list := strings.Fields(string(out))
	assert.Contains(t, list, "modernc.org/sqlite")
	for _, path := range list {
		assert.NotContains(t, []string{"net/http", "crypto/tls"}, path)
		assert.NotContains(t, path, "langchain")
	}
}

// The binary of a plain go build has the debug information.
func TestBinaryIsSmall(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/quickstart"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	info, err := os.Stat(path)
	require.NoError(t, err)
	t.Logf("%d bytes", info.Size())
	assert.LessOrEqual(t, info.Size(), int64(20_000_000))
}
