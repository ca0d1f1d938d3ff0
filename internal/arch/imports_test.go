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
)

const modulePath = "github.com/weft-go/weft"

// core are the packages that compile nothing but the standard library and each
// other.
var core = []string{"state", "graph", "checkpoint", "memory", "llm"}

// layers says what of this module a package may import. A pattern that ends in
// "/..." stands for the packages below; the longest pattern that fits counts.
// Each group's own internal packages come in addition.
var layers = map[string][]string{
	"state":      nil,
	"llm":        nil,
	"checkpoint": nil,
	"memory":     {"llm"},
	"graph":      {"state", "checkpoint"},
	"tools":      {"llm", "state"},

	"graph/agent":    {"graph", "llm", "tools", "state"},
	"checkpoint/...": {"checkpoint"},
	"llm/...":        {"llm"},
	"memory/...":     {"memory", "memory/...", "llm"},
	"tools/...":      {"tools", "llm", "state"},

	"llm/langchainllm/...": {"llm", "llm/langchainllm"},

	"checkpoint/supacheckpoint": {"checkpoint", "checkpoint/pgcheckpoint"},
	"memory/internal/...":       {"memory", "memory/internal/...", "llm"},
	"memory/agentmemory":        {"memory", "memory/...", "llm", "tools", "graph", "graph/agent", "state"},

	// An example may do what a user can do, and no more.
	"examples/...": {"state", "graph", "graph/agent", "checkpoint", "checkpoint/...", "llm", "llm/...", "memory", "memory/...", "tools", "tools/..."},
	// A command works on the stores that it names.
	"cmd/...": {"checkpoint", "checkpoint/..."},
	// What several packages share stands below all of them.
	"internal/...": nil,
	// Programs of the Makefile are users.
	"internal/interop": {"llm"},
	"internal/live":    {"graph", "graph/agent", "llm", "llm/langchainllm/...", "tools"},
}

type pkg struct {
	ImportPath string
	Name       string
	Standard   bool
	DepOnly    bool
	Imports    []string
	Deps       []string
}

// path is the package's path in the module: "graph/agent".
func (p pkg) path() string { return inModule(p.ImportPath) }

// helper says whether the package exists for tests.
func (p pkg) helper() bool {
	path := p.path()
	return strings.HasSuffix(path, "test") || strings.HasPrefix(path, "internal/") && strings.HasSuffix(path, "testing")
}

func inModule(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, modulePath), "/")
}

// packages are those of the module and all that they compile, without tests.
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

// own returns the module's packages, sorted by path, and all packages.
func own(t *testing.T) ([]pkg, map[string]pkg) {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ours []pkg
	for _, p := range all {
		if !p.DepOnly {
			ours = append(ours, p)
		}
	}
	slices.SortFunc(ours, func(a, b pkg) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	if len(ours) == 0 {
		t.Fatal("go list found no package")
	}
	return ours, all
}

func TestCoreCompilesTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	_, all := own(t)
	checked := 0
	for _, name := range core {
		p, ok := all[modulePath+"/"+name]
		if !ok {
			continue
		}
		checked++
		for _, dep := range p.Deps {
			if d := all[dep]; !d.Standard && !strings.HasPrefix(dep, modulePath+"/") {
				t.Errorf("%s compiles %s, which is not of the standard library", name, dep)
			}
		}
	}
	if checked < 3 {
		t.Errorf("found %d of the core packages %v", checked, core)
	}
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	ours, _ := own(t)
	for _, p := range ours {
		group, allowed, ok := layer(p.path())
		if !ok {
			t.Errorf("%s has no place in the layers; give it one", p.path())
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, modulePath+"/") {
				continue
			}
			if to := inModule(imported); !mayImport(p.path(), group, allowed, to) {
				t.Errorf("%s imports %s: it may import %v", p.path(), to, allowed)
			}
		}
	}
}

// layer returns the group that a package belongs to and what it may import.
func layer(path string) (group string, allowed []string, ok bool) {
	// An internal package has the rights of the package that it is part of, unless it has
	// its own.
	for pattern, allowed := range layers {
		if strings.Contains(pattern, "/internal/") && matches(pattern, path) {
			return pattern, allowed, true
		}
	}
	owner := path
	if before, _, found := strings.Cut(path, "/internal/"); found && before != "examples" {
		owner = before
	}
	if allowed, ok := layers[owner]; ok {
		return owner, allowed, true
	}
	longest := ""
	for pattern := range layers {
		if matches(pattern, owner) && len(pattern) > len(longest) {
			longest = pattern
		}
	}
	allowed, ok = layers[longest]
	return strings.TrimSuffix(longest, "/..."), allowed, ok
}

func mayImport(path, group string, allowed []string, to string) bool {
	if strings.HasPrefix(to, "internal/") {
		return group != "examples"
	}
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
				// An example without a key runs on a scripted model.
				helper = !strings.HasPrefix(p.path(), "examples/") || inModule(dep) != "llm/llmtest"
			}
			if helper {
				t.Errorf("%s compiles %s outside of its tests", p.path(), dep)
			}
		}
	}
}

// TestLayerRules holds the rules themselves to account: a rule that lets
// everything through would make the tests above pass.
func TestLayerRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from, to string
		want     bool
	}{
		{"graph", "state", true},
		{"graph", "checkpoint", true},
		{"graph", "checkpoint/internal/lineage", false},
		{"graph", "graph/internal/plan", true},
		{"graph", "llm", false},
		{"graph", "graph/agent", false},
		{"graph/internal/plan", "llm", false},
		{"graph/internal/plan", "state", true},
		{"graph/agent", "tools", true},
		{"graph/agent", "memory", false},
		{"state", "checkpoint", false},
		{"state", "internal/ids", true},
		{"checkpoint/sqlitecheckpoint", "checkpoint", true},
		{"checkpoint/sqlitecheckpoint", "checkpoint/internal/lineage", true},
		{"checkpoint/sqlitecheckpoint", "graph", false},
		{"checkpoint", "checkpoint/internal/lineage", true},
		{"llm", "state", false},
		{"tools/mcptools", "tools", true},
		{"examples/hello", "checkpoint/sqlitecheckpoint", true},
		{"examples/hello", "internal/ids", false},
		{"examples/hello", "examples/hello/internal/offline", true},
		{"examples/hello/internal/offline", "examples/hello/internal/words", true},
		{"examples/hello", "examples/internal/web", true},
		{"examples/internal/web", "graph", true},
		{"examples/internal/web", "internal/ids", false},
		{"tools", "examples/hello", false},
		{"internal/ids", "state", false},
	}
	for _, tt := range tests {
		group, allowed, ok := layer(tt.from)
		if !ok {
			t.Errorf("%s: no layer", tt.from)
			continue
		}
		if got := mayImport(tt.from, group, allowed, tt.to); got != tt.want {
			t.Errorf("%s imports %s: got %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
	if _, _, ok := layer("elsewhere"); ok {
		t.Error("an unknown package has a layer")
	}
}
