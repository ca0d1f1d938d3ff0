// Docgen writes what the repository's documents take from its code:
//
//   - api/NAME.txt, the documentation of each public package: a change of the
//     API is a visible change of a file;
//   - deps.txt, the modules that each public package makes its user compile;
//   - the marked code blocks of every Markdown file, from files that compile.
//
// With -check it writes nothing, and lists what is not as it would be written.
//
// A block is marked by a comment that names a file, relative to the root of the
// repository, and perhaps a part of it:
//
//	<!-- begin: examples/hello/main.go#ask -->
//	<!-- end -->
//
// The part is what stands between the comments "// docs:begin ask" and
// "// docs:end" in the file, or else the function of that name. Without a part,
// the block is the whole file.
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
	check := flag.Bool("check", false, "write nothing; list what is stale and fail")
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

// generate returns what each generated file should hold, by path from the root.
// A file that should not exist has nil.
func generate(ctx context.Context, root string) (map[string][]byte, error) {
	pkgs, err := list(ctx, root)
	if err != nil {
		return nil, err
	}
	want := map[string][]byte{"deps.txt": deps(pkgs)}
	apis, apiErr := api(ctx, root, pkgs)
	maps.Copy(want, apis)
	docs, docErr := documents(root, compiled(pkgs))
	maps.Copy(want, docs)
	return want, errors.Join(apiErr, docErr)
}

// compare returns the paths, sorted, that do not hold what they should.
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
