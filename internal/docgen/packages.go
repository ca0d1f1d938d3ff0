package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A pkg is a package in the output of go list.
type pkg struct {
	ImportPath   string
	Name         string
	Dir          string
	Doc          string
	Standard     bool
	DepOnly      bool
	Module       *module
	Deps         []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

type module struct {
	Path    string
	Version string
	Main    bool
}

// list returns the packages of the module and all their dependencies.
func list(ctx context.Context, root string) ([]pkg, error) {
	out, err := goTool(ctx, root, "list", "-deps",
		"-json=ImportPath,Name,Dir,Doc,Standard,DepOnly,Module,Deps,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		pkgs = append(pkgs, p)
	}
}

// goTool runs a go command. It sets a fixed target platform, so that the output does not
// depend on the platform of this machine.
func goTool(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

// path returns the path of the package in its module, such as "graph/agent".
func (p pkg) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
}

func (p pkg) byPath(other pkg) int { return strings.Compare(p.ImportPath, other.ImportPath) }

// public reports whether users can import the package. A folder that contains only tests is not a public package.
func (p pkg) public() bool {
	return len(p.GoFiles) > 0 && !p.DepOnly && p.Name != "main" && !slices.Contains(strings.Split(p.ImportPath, "/"), "internal")
}

const apiFolder = "internal/api"

// api returns the documentation of each public package, by the name of its file in internal/api/.
// All other files there get nil content.
func api(ctx context.Context, root string, pkgs []pkg) (map[string][]byte, error) {
	files := make(map[string][]byte)
	old, err := filepath.Glob(filepath.Join(root, apiFolder, "*.txt"))
	if err != nil {
		return nil, err
	}
	for _, path := range old {
		files[filepath.Join(apiFolder, filepath.Base(path))] = nil
	}
	for _, p := range pkgs {
		if !p.public() {
			continue
		}
		name := filepath.Join(apiFolder, p.Name+".txt")
		if files[name] != nil {
			return nil, fmt.Errorf("%s: another public package is named %s; package names must be unique", p.path(), p.Name)
		}
		if files[name], err = goTool(ctx, root, "doc", "-all", "./"+p.path()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// deps returns the content of deps.txt: the modules that each public package compiles.
func deps(pkgs []pkg) []byte {
	modules := make(map[string]*module)
	for _, p := range pkgs {
		if !p.Standard {
			modules[p.ImportPath] = p.Module
		}
	}
	var b bytes.Buffer
	b.WriteString("# The modules that each public package compiles. Written by `make docs`.\n")
	for _, p := range slices.SortedFunc(slices.Values(pkgs), pkg.byPath) {
		if !p.public() {
			continue
		}
		var lines []string
		for _, dep := range p.Deps {
			if m := modules[dep]; m != nil && !m.Main {
				lines = append(lines, "\t"+m.Path+" "+m.Version+"\n")
			}
		}
		if len(lines) == 0 {
			lines = []string{"\tthe standard library only\n"}
		}
		slices.Sort(lines)
		fmt.Fprintf(&b, "\n%s\n%s", p.path(), strings.Join(slices.Compact(lines), ""))
	}
	return b.Bytes()
}

// reference returns the content of docs/reference.md: the public packages with the first sentence
// of their documentation.
func reference(pkgs []pkg) []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	group := ""
	for _, p := range slices.SortedFunc(slices.Values(pkgs), pkg.byPath) {
		if !p.public() {
			continue
		}
		if top, _, _ := strings.Cut(p.path(), "/"); top != group {
			group = top
			fmt.Fprintf(&b, "\n## %s\n\n| package | |\n| --- | --- |\n", group)
		}
		sentence := strings.TrimPrefix(strings.TrimPrefix(p.Doc, "Package "+p.Name+" "), "is ")
		if sentence != "" {
			sentence = strings.ToUpper(sentence[:1]) + sentence[1:]
		}
		sentence = docLink.ReplaceAllString(sentence, "`$1`")
		fmt.Fprintf(&b, "| [`%s`](../%s) | %s |\n", p.path(), p.path(), sentence)
	}
	return b.Bytes()
}

// docLink matches a link to a declaration, such as [Store].
var docLink = regexp.MustCompile(`\[(\w[\w.]*)\]`)

const referenceHead = `# Packages

All public packages of Weft. On the documentation site, each link leads to the documentation of the
package, which comes from its source. On GitHub, it leads to the source; ` + "`go doc`" + ` prints the same
documentation:

` + "```sh" + `
go doc github.com/weft-go/weft/graph.Thread
` + "```" + `

[deps.txt](deps.txt) lists the modules that each package compiles. This page is written by ` + "`make docs`" + `.
`

// compiled returns the paths of the Go files that a build or test of the module compiles.
func compiled(pkgs []pkg) map[string]bool {
	files := make(map[string]bool)
	for _, p := range pkgs {
		if p.DepOnly {
			continue
		}
		dir := filepath.FromSlash(p.path())
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			files[filepath.Join(dir, name)] = true
		}
	}
	return files
}
