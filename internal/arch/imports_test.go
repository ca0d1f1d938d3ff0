package arch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/weft-go/weft"

// core lists packages that depend only on this module and the standard library.
var core = []string{
	"state", "graph", "graph/broadcast", "graph/draw", "graph/node", "checkpoint", "checkpoint/memcheckpoint",
	"graph/flow", "internal/jsonform", "internal/statecore", "internal/engine", "internal/lru", "internal/mark", "internal/suggest", "internal/uuid",
}

// schemaUsers lists packages that depend only on this module, the standard library and the
// module that validates JSON Schemas.
var schemaUsers = []string{"internal/schema", "llm", "memory", "tools"}

// layers lists the packages of this module that a package may import. A pattern that ends in
// "/..." matches all packages below a folder. The longest matching pattern applies. A
// package may also import internal packages of the same group, such as memory/internal/....
var layers = map[string][]string{
	// These packages are the core, lowest layer first.
	"internal/uuid":      nil,
	"internal/suggest":   nil,
	"internal/lru":       nil,
	"internal/mark":      nil,
	"internal/jsonform":  {"internal/suggest"},
	"internal/statecore": {"internal/jsonform", "internal/suggest"},
	"state":              {"internal/statecore", "internal/jsonform", "internal/uuid"},
	"checkpoint":         {"internal/mark"},
	"internal/engine":    {"state", "checkpoint", "internal/mark", "internal/statecore", "internal/suggest", "internal/uuid"},
	"graph/draw":         {"state"},
	"graph":              {"state", "checkpoint", "graph/draw", "internal/engine", "internal/statecore", "internal/jsonform", "internal/suggest"},
	"graph/broadcast":    {"graph"},
	"graph/node":         {"graph", "internal/engine", "internal/lru", "state"},
	"graph/executortest": {"checkpoint", "checkpoint/memcheckpoint", "graph", "graph/node", "internal/suitetest", "state"},
	"graph/flow":         {"graph", "graph/node", "internal/engine", "internal/jsonform", "internal/lru", "state"},

	"checkpoint/...":            {"checkpoint", "internal/migration", "internal/unavailable", "internal/pgdb", "internal/sqlitedb", "internal/uuid"},
	"checkpoint/memcheckpoint":  {"checkpoint"},
	"checkpoint/checkpointtest": {"checkpoint", "internal/suitetest"},
	"checkpoint/supacheckpoint": {"checkpoint", "checkpoint/pgcheckpoint"},

	"llm":                  {"internal/schema", "internal/uuid"},
	"llm/...":              {"llm"},
	"llm/modeltest":        {"llm", "internal/suitetest"},
	"llm/langchainllm/...": {"llm", "llm/langchainllm"},
	"llm/langchainllm/providers/all": {
		"llm/langchainllm/providers/anthropic", "llm/langchainllm/providers/googleai", "llm/langchainllm/providers/openai",
	},
	"tools":                  {"llm", "state", "internal/display", "internal/schema", "internal/suggest"},
	"tools/...":              {"tools", "llm", "state", "internal/toolname", "internal/uuid"},
	"graph/otelgraph":        {"checkpoint", "graph", "llm", "tools"},
	"graph/agent":            {"graph", "internal/named", "internal/uuid", "llm", "tools", "state"},
	"graph/agent/middleware": {"graph", "graph/agent", "llm", "tools", "tools/plan", "state"},
	"graph/agent/deep":       {"graph", "graph/agent", "graph/agent/middleware", "llm", "tools", "state"},

	"memory/internal/...":    {"memory/internal/..."},
	"memory/internal/search": {"memory/driver", "memory/internal/..."},
	"memory/driver":          {"memory/internal/...", "llm"},
	"memory/inmemory":        {"memory/driver", "memory/internal/...", "internal/uuid"},
	"memory/sqlitememory":    {"memory/driver", "memory/internal/...", "llm", "internal/migration", "internal/unavailable", "internal/sqlitedb", "internal/uuid"},
	"memory/pgmemory":        {"memory/driver", "memory/internal/...", "llm", "internal/migration", "internal/unavailable", "internal/pgdb", "internal/uuid"},
	"memory":                 {"memory/driver", "llm", "internal/uuid"},
	"memory/drivertest":      {"memory", "memory/...", "llm", "internal/suitetest", "internal/uuid"},
	"memory/extract":         {"memory", "memory/...", "llm", "internal/uuid"},
	"memory/limit":           {"memory/driver"},
	"memory/knowledge":       {"memory", "memory/...", "llm", "internal/uuid"},
	"memory/knowledge/...":   {"memory", "memory/...", "llm", "internal/uuid"},
	"memory/agentmemory":     {"memory", "memory/...", "llm", "tools", "graph", "graph/agent", "graph/agent/deep", "state"},

	"server/runs":                nil,
	"server/runs/...":            {"server/runs", "internal/migration", "internal/unavailable", "internal/pgdb", "internal/sqlitedb", "internal/uuid"},
	"server/runs/runstest":       {"internal/suitetest", "server/runs"},
	"server/mcpserver":           {"internal/uuid", "server/internal/question", "tools"},
	"server/internal/question":   {"tools"},
	"server/internal/replaytest": {"internal/uuid"},
	"internal/stored":            {"checkpoint", "graph", "internal/lru", "internal/mark", "internal/schema", "internal/statecore", "llm", "server/runs", "server/runs/memruns", "state"},
	"server/ui":                  {"tools"},
	"server/ui/internal/...":     {"checkpoint", "checkpoint/...", "graph", "graph/agent", "graph/node", "llm", "llm/llmtest", "memory", "memory/inmemory", "server", "server/runs/memruns", "server/ui", "state", "tools"},
	"server":                     {"checkpoint", "graph", "graph/draw", "llm", "memory", "internal/named", "internal/stored", "server/internal/question", "server/runs", "server/ui", "state", "tools", "internal/engine", "internal/jsonform", "internal/unavailable", "internal/uuid"},

	// Examples and commands import only packages that users can import. The command weft also reads threads
	// without their graphs.
	"examples/...": {
		"state", "graph", "graph/broadcast", "graph/draw", "graph/flow", "graph/node", "graph/otelgraph", "graph/agent", "graph/agent/deep", "graph/agent/middleware", "checkpoint", "checkpoint/...",
		"llm", "llm/...", "memory", "memory/...", "server", "server/...", "tools", "tools/...",
	},
	"examples/quickstart/chat":      {"checkpoint/sqlitecheckpoint", "examples/quickstart/internal/...", "graph", "llm/...", "server", "server/..."},
	"examples/quickstart/withmodel": {"examples/quickstart/internal/...", "llm", "llm/..."},

	"cmd/...": {"checkpoint", "checkpoint/..."},
	"cmd/weft": {
		"checkpoint", "checkpoint/...", "graph", "internal/pgdb", "internal/sqlitedb", "internal/stored", "internal/uuid", "memory", "memory/driver",
		"memory/pgmemory", "memory/sqlitememory", "state", "server", "server/runs", "server/runs/...", "server/ui",
	},

	// Other internal packages import no packages of this module, unless they are listed here.
	"internal/...":      nil,
	"internal/pgdb":     {"internal/migration", "internal/unavailable"},
	"internal/sqlitedb": {"internal/migration"},
	"internal/supatest": {"internal/pgtest"},
	"internal/clients": {
		"checkpoint", "checkpoint/...", "graph", "graph/node", "internal/protocolgraphs", "llm", "memory", "memory/driver", "memory/inmemory", "memory/pgmemory", "memory/sqlitememory", "server", "server/mcpserver", "server/runs", "server/runs/...", "state",
	},
	"internal/interop":        {"llm"},
	"internal/protocolgraphs": {"checkpoint", "graph", "graph/node", "llm", "server", "state"},
	"internal/live":           {"graph", "graph/agent", "llm", "llm/langchainllm/...", "tools"},
	"internal/liveextract":    {"llm", "llm/langchainllm/...", "memory/extract"},
}

type pkg struct {
	ImportPath string
	Name       string
	Standard   bool
	DepOnly    bool
	Imports    []string
	Deps       []string
}

// path returns the path of the package in the module, such as "graph/agent".
func (p pkg) path() string { return inModule(p.ImportPath) }

// helper reports whether the package is a test helper.
func (p pkg) helper() bool {
	path := p.path()
	return strings.HasSuffix(path, "test") || strings.HasPrefix(path, "internal/") && strings.HasSuffix(path, "testing")
}

func inModule(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, modulePath), "/")
}

// packages returns the packages of the module and all their dependencies, without test files.
var packages = sync.OnceValues(func() (map[string]pkg, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Standard,DepOnly,Imports,Deps", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, errors.New(string(exit.Stderr))
	}
	if err != nil {
		return nil, err
	}
	pkgs := make(map[string]pkg)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs[p.ImportPath] = p
	}
})

// own returns the packages of the module sorted by path. The second result also contains
// their dependencies, by import path.
func own(t *testing.T) ([]pkg, map[string]pkg) {
	t.Helper()
	all, err := packages()
	require.NoError(t, err, "go list")
	var ours []pkg
	for _, p := range all {
		if !p.DepOnly {
			ours = append(ours, p)
		}
	}
	slices.SortFunc(ours, func(a, b pkg) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	require.NotEmpty(t, ours, "packages of go list")
	return ours, all
}

func TestCoreCompilesTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	_, all := own(t)
	for _, name := range core {
		p, ok := all[modulePath+"/"+name]
		if !assert.True(t, ok, "package %s does not exist", name) {
			continue
		}
		for _, dep := range p.Deps {
			assert.True(t, strings.HasPrefix(dep, modulePath+"/") || all[dep].Standard,
				"%s compiles %s, which is not in the standard library", name, dep)
		}
	}
}

func TestSchemaUsersCompileFewModules(t *testing.T) {
	t.Parallel()
	_, all := own(t)
	for _, name := range schemaUsers {
		p, ok := all[modulePath+"/"+name]
		if !assert.True(t, ok, "package %s does not exist", name) {
			continue
		}
		for _, dep := range p.Deps {
			allowed := strings.HasPrefix(dep, modulePath+"/") || strings.HasPrefix(dep, "github.com/google/jsonschema-go/") || all[dep].Standard ||
				name == "memory" && (strings.HasPrefix(dep, "golang.org/x/text/") || strings.HasPrefix(dep, "github.com/blevesearch/snowballstem"))
			assert.True(t, allowed, "%s compiles %s, which is neither in the standard library nor in jsonschema-go", name, dep)
		}
	}
}

func TestUsersLinkNoTestify(t *testing.T) {
	t.Parallel()
	ours, _ := own(t)
	checked := 0
	for _, p := range ours {
		if strings.HasPrefix(p.path(), "internal/") || strings.Contains(p.path(), "/internal/") {
			continue // users cannot import this package
		}
		checked++
		for _, dep := range p.Deps {
			assert.False(t, strings.HasPrefix(dep, "github.com/stretchr/testify"), "%s compiles %s; only tests may import it", p.path(), dep)
		}
	}
	assert.Greater(t, checked, 20, "checked packages")
}

func TestPackagesImportLowerLayersOnly(t *testing.T) {
	t.Parallel()
	ours, _ := own(t)
	for _, p := range ours {
		group, allowed, ok := layer(p.path())
		if !assert.True(t, ok, "%s is in no layer; add it to the variable layers of internal/arch/imports_test.go", p.path()) {
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, modulePath+"/") {
				continue
			}
			to := inModule(imported)
			assert.True(t, mayImport(p.path(), group, allowed, to), "%s imports %s; it may import %v", p.path(), to, allowed)
		}
	}
}

// layer returns the group to which a package belongs and the packages that it may import. If no
// pattern of layers matches the package, ok is false.
func layer(path string) (group string, allowed []string, ok bool) {
	// An internal package may import the same packages as the package above it, unless
	// layers lists the internal package.
	if pattern := longestMatch(path); strings.Contains(pattern, "/internal/") {
		return pattern, layers[pattern], true
	}
	owner := path
	if before, _, found := strings.Cut(path, "/internal/"); found && before != "examples" {
		owner = before
	}
	if allowed, ok := layers[owner]; ok {
		return owner, allowed, true
	}
	longest := longestMatch(owner)
	allowed, ok = layers[longest]
	return strings.TrimSuffix(longest, "/..."), allowed, ok
}

// longestMatch returns the longest pattern of layers that matches a package.
func longestMatch(path string) (longest string) {
	for pattern := range layers {
		if matches(pattern, path) && len(pattern) > len(longest) {
			longest = pattern
		}
	}
	return longest
}

func mayImport(path, group string, allowed []string, to string) bool {
	home, _, _ := strings.Cut(path, "/internal/")
	if strings.HasPrefix(to, home+"/internal/") || strings.HasPrefix(to, group+"/internal/") {
		return true
	}
	return slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, to) })
}

func matches(pattern, path string) bool {
	prefix, below := strings.CutSuffix(pattern, "/...")
	return !below && path == pattern || below && strings.HasPrefix(path, prefix+"/")
}

func TestProgramsLinkNoTestHelpers(t *testing.T) {
	t.Parallel()
	ours, all := own(t)
	for _, p := range ours {
		if p.helper() {
			continue
		}
		for _, dep := range p.Deps {
			helper := dep == "testing" || strings.HasPrefix(dep, "testing/") || dep == "net/http/httptest"
			if strings.HasPrefix(dep, modulePath+"/") && all[dep].helper() {
				// Examples may use a scripted model, so that they run without an API key.
				helper = !strings.HasPrefix(p.path(), "examples/") || inModule(dep) != "llm/llmtest"
			}
			assert.False(t, helper, "%s compiles %s outside of its tests", p.path(), dep)
		}
	}
}

// The table layers permits the imports that the packages need, and forbids all others. An
// unknown package is in no layer.
func TestLayersPermitAndForbidImports(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from, to string
		want     bool
	}{
		{"internal/jsonform", "internal/statecore", false},
		{"internal/statecore", "internal/jsonform", true},
		{"internal/statecore", "state", false},
		{"state", "internal/statecore", true},
		{"state", "internal/engine", false},
		{"state", "checkpoint", false},
		{"internal/engine", "state", true},
		{"internal/engine", "checkpoint", true},
		{"internal/engine", "graph", false},
		{"internal/suggest", "internal/uuid", false},
		{"graph", "state", true},
		{"graph", "checkpoint", true},
		{"graph", "internal/engine", true},
		{"graph", "graph/draw", true},
		{"graph", "graph/node", false},
		{"graph", "checkpoint/internal/lineage", false},
		{"graph", "graph/internal/plan", true},
		{"graph", "llm", false},
		{"graph", "graph/agent", false},
		{"graph/draw", "state", true},
		{"graph/draw", "graph", false},
		{"graph/draw", "internal/uuid", false},
		{"graph/node", "graph", true},
		{"graph/node", "internal/engine", true},
		{"graph/node", "internal/statecore", false},
		{"graph/internal/plan", "llm", false},
		{"graph/internal/plan", "state", true},
		{"graph/agent", "tools", true},
		{"graph/agent", "memory", false},
		{"graph/agent", "internal/engine", false},
		{"checkpoint/sqlitecheckpoint", "checkpoint", true},
		{"checkpoint/sqlitecheckpoint", "checkpoint/internal/lineage", true},
		{"checkpoint/sqlitecheckpoint", "internal/sqlitedb", true},
		{"checkpoint/sqlitecheckpoint", "graph", false},
		{"checkpoint/memcheckpoint", "checkpoint", true},
		{"checkpoint/memcheckpoint", "internal/sqlitedb", false},
		{"checkpoint", "checkpoint/internal/lineage", true},
		{"llm", "state", false},
		{"llm", "internal/schema", true},
		{"internal/schema", "llm", false},
		{"tools/mcptools", "tools", true},
		{"cmd/reseal", "checkpoint/pgcheckpoint", true},
		{"cmd/reseal", "internal/pgdb", false},
		{"examples/hello", "checkpoint/sqlitecheckpoint", true},
		{"examples/hello", "graph/node", true},
		{"examples/hello", "internal/uuid", false},
		{"examples/hello", "examples/hello/internal/offline", true},
		{"examples/hello/internal/offline", "examples/hello/internal/words", true},
		{"examples/hello", "examples/internal/jsonhttp", true},
		{"examples/internal/jsonhttp", "server", true},
		{"examples/internal/jsonhttp", "internal/uuid", false},
		{"tools", "examples/hello", false},
		{"internal/anything", "state", false},
	}
	for _, tt := range tests {
		group, allowed, ok := layer(tt.from)
		if assert.True(t, ok, "%s is in no layer", tt.from) {
			assert.Equal(t, tt.want, mayImport(tt.from, group, allowed, tt.to), "%s imports %s", tt.from, tt.to)
		}
	}
	_, _, ok := layer("elsewhere")
	assert.False(t, ok, "an unknown package is in a layer")
}
