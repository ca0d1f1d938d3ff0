package arch_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The packages of a memory have at most 300 names, as go doc -short lists them.
func TestMemoryHasAtMost300Names(t *testing.T) {
	t.Parallel()
	all, err := packages()
	require.NoError(t, err)
	total, counts := 0, map[string]int{}
	for p := range all {
		name, ok := strings.CutPrefix(p, modulePath+"/")
		if ok && strings.HasPrefix(name+"/", "memory/") && !strings.Contains(name, "/internal/") {
			counts[name] = listed(t, name)
			total += counts[name]
		}
	}
	require.NotZero(t, counts["memory"])
	assert.LessOrEqual(t, total, 300, "names that go doc -short lists for the packages of a memory: remove a name that nobody needs before you add one: %v", counts)
}

const tooManyNames = "make the new one a method of a type, put it into a package of its own, or remove another name; " +
	"a kind of channel or an event of a run cannot do without: raise the number here by one, and say why in the pull request (CONTRIBUTING.md, How to add)"

// The top level of the core stays small enough to be read at once. Less common names belong to packages below graph.
func TestTopLevelOfTheCoreIsSmall(t *testing.T) {
	t.Parallel()
	for pkg, most := range map[string]int{"state": 30, "graph": 60} {
		assert.LessOrEqual(t, listed(t, pkg), most, "names that go doc -short lists for package %s: %s", pkg, tooManyNames)
	}
}

// listed returns the number of names that go doc -short lists for a package.
func listed(t *testing.T, pkg string) (n int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "doc", "-short", "./"+pkg)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	require.NoError(t, err, pkg)
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}
