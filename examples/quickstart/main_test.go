package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The command must not link net/http: a new user waits for the first build, and net/http with TLS
// would take longer than the rest of the command without SQLite.
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

// This test measures a plain go build, whose binary has the debug information.
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
