package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	required = regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+) v\S+$`) // a line without "// indirect"
	listed   = regexp.MustCompile("(?m)^\\| `([a-z]+\\.[^`]+)` \\|")
)

// The design decisions give the reason for each module that the programs or tests of this repository import,
// and for no other module. `go mod tidy` removes a module that nothing imports from the direct requirements.
func TestEachImportedModuleHasAReasonInTheDesign(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n## Dependencies\n")
	require.True(t, found)
	var named []string
	for _, m := range listed.FindAllStringSubmatch(table, -1) {
		named = append(named, m[1])
	}
	var all []string
	for _, file := range []string{"go.mod", "temporal/go.mod", "temporal/e2e/go.mod", "benchmarks/go.mod"} {
		imported := direct(t, file)
		require.Contains(t, imported, "github.com/stretchr/testify", "the test reads %s", file)
		for _, module := range imported {
			assert.True(t, slices.ContainsFunc(named, func(n string) bool { return within(module, n) }), "docs/design.md has no reason for %s of %s", module, file)
		}
		all = append(all, imported...)
	}
	for _, n := range named {
		assert.True(t, slices.ContainsFunc(all, func(module string) bool { return within(module, n) }), "docs/design.md names %s, which no go.mod requires directly", n)
	}
}

// direct returns the modules outside of this repository that a go.mod file requires directly.
func direct(t *testing.T, file string) (modules []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	for _, m := range required.FindAllStringSubmatch(string(text), -1) {
		if !within(m[1], "github.com/weft-go/weft") {
			modules = append(modules, m[1])
		}
	}
	return modules
}

// within reports whether a module is the named one or another module of its repository.
func within(module, name string) bool { return module == name || strings.HasPrefix(module, name+"/") }
