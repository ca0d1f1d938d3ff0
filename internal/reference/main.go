// Reference writes a Markdown page for each public package, from the documentation in its
// source. `make site` adds the pages to the documentation site.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the `folder` of go.mod")
	out := flag.String("out", "", "the `folder` of the pages")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	if out == "" {
		return errors.New("name a folder with -out")
	}
	pkgs, err := list(root)
	if err != nil {
		return err
	}
	for _, p := range pkgs {
		text, err := page(p, pkgs)
		if err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		file := filepath.Join(out, filepath.FromSlash(p.path())+".md")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A pkg is a package in the output of go list.
type pkg struct {
	ImportPath   string
	Name         string
	Dir          string
	Module       struct{ Path string }
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// path returns the path of the package in its module, such as "graph/agent".
func (p pkg) path() string { return strings.TrimPrefix(p.ImportPath, p.Module.Path+"/") }

// list returns the public packages of the module at root.
func list(root string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Module,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		internal := slices.Contains(strings.Split(p.ImportPath, "/"), "internal")
		if len(p.GoFiles) > 0 && p.Name != "main" && !internal {
			pkgs = append(pkgs, p)
		}
	}
}
