// Docgen generates documents from the code of the repository:
//
//   - internal/api/NAME.txt is the documentation of a public package. A diff of it shows every change
//     of the API.
//   - docs/deps.txt lists the modules that each public package compiles.
//   - docs/reference.md lists the public packages.
//   - The marked code blocks of every Markdown file come from files that compile.
//
// With -check it writes nothing, but lists the files that are not current.
//
// A comment marks a code block. It contains the path of a file from the root of the
// repository, and optionally a part of the file:
//
//	<!-- begin: examples/hello/main.go#ask -->
//	<!-- end -->
//
// A part is the region between the comments "// docs:begin ask" and "// docs:end" (in Python "#", in SQL "--") of the
// file, or the function with this name. Without a part, the block is the whole file. A quoted
// Go file must be part of a package of this module, or of another module of the repository, whose own
// tests compile it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:generate go run . -root ../..

func main() {
	root := flag.String("root", ".", "the `folder` of go.mod")
	check := flag.Bool("check", false, "write nothing; list the files that are not current and fail")
	flag.Parse()
	if err := run(context.Background(), *root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, check bool) error {
	want, err := generate(ctx, root)
	if err != nil {
		return err
	}
	stale, err := compare(root, want)
	if err != nil {
		return err
	}
	if check {
		if len(stale) > 0 {
			return fmt.Errorf("not current; run `make docs`:\n\t%s", strings.Join(stale, "\n\t"))
		}
		return nil
	}
	for _, name := range stale {
		if err := write(filepath.Join(root, name), want[name]); err != nil {
			return err
		}
		fmt.Println("docgen: wrote", name)
	}
	return nil
}

// generate returns the content of every generated file, by path from the root. A file with
// nil content must not exist.
func generate(ctx context.Context, root string) (map[string][]byte, error) {
	pkgs, err := list(ctx, root)
	if err != nil {
		return nil, err
	}
	want := map[string][]byte{filepath.Join("docs", "deps.txt"): deps(pkgs)}
	apis, apiErr := api(ctx, root, pkgs)
	maps.Copy(want, apis)
	docs, docErr := documents(root, compiled(pkgs))
	maps.Copy(want, docs)
	want[filepath.Join("docs", "reference.md")] = reference(pkgs)
	return want, errors.Join(apiErr, docErr)
}

// compare returns the sorted paths of the files whose content differs from want.
func compare(root string, want map[string][]byte) ([]string, error) {
	var stale []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		got, err := os.ReadFile(filepath.Join(root, name))
		missing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !missing {
			return nil, err
		}
		if missing != (want[name] == nil) || !bytes.Equal(got, want[name]) {
			stale = append(stale, name)
		}
	}
	return stale, nil
}

func write(path string, content []byte) error {
	if content == nil {
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
