package arch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// optional lists modules that only some programs need, by the prefix of their import paths. Each list has the public packages
// that compile the module.
var optional = map[string][]string{
	"github.com/riverqueue/": {"server/runs/riverqueue"},
	"go.temporal.io/":        nil, // in a module of its own
	// langchaingo uses a client of Google that depends on OpenTelemetry.
	"go.opentelemetry.io/": {"graph/otelgraph", "llm/langchainllm/providers/all", "llm/langchainllm/providers/googleai"},
}

// A program compiles River, Temporal or OpenTelemetry only if it imports a package that needs them.
func TestOptionalModulesAreCompiledForTheirImportersOnly(t *testing.T) {
	t.Parallel()
	ours, _ := own(t)
	for prefix, want := range optional {
		var compile []string
		for _, p := range ours {
			program := strings.HasPrefix(p.path(), "examples/") || strings.HasPrefix(p.path(), "cmd/") || strings.HasPrefix(p.path(), "internal/")
			if !program && slices.ContainsFunc(p.Deps, func(dep string) bool { return strings.HasPrefix(dep, prefix) }) {
				compile = append(compile, p.path())
			}
		}
		assert.Equal(t, want, compile, prefix)
	}
}

// The go.sum of a program that imports graph and pgcheckpoint lists no optional module.
func TestProgramWithPostgreSQLSumsNoOptionalModule(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	own, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(own), "\ngo ")
	version, _, _ := strings.Cut(after, "\n")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/program\n\ngo " + version + "\n\nrequire " + modulePath + " v0.0.0\n\nreplace " + modulePath + " => " + root + "\n",
		"main.go": "package main\n\nimport (\n\t_ \"" + modulePath + "/checkpoint/pgcheckpoint\"\n\t_ \"" + modulePath + "/graph\"\n)\n\nfunc main() {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-deps", ".") // writes go.sum
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off", "GOSUMDB=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	require.NoError(t, err)
	require.Contains(t, string(sums), "github.com/jackc/pgx/v5 ")
	for prefix := range optional {
		assert.NotContains(t, string(sums), "\n"+prefix)
		assert.NotContains(t, string(out), "\n"+prefix)
	}
}
