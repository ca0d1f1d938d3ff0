package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository creates a module that contains each kind of input of docgen.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	put(t, root, map[string]string{
		"go.mod":          "module example.com/m\n\ngo 1.26\n\nrequire example.com/dep v1.2.3\n\nreplace example.com/dep => ./dep\n",
		"dep/go.mod":      "module example.com/dep\n\ngo 1.26\n",
		"dep/dep.go":      "package dep\n\nconst One = 1\n",
		"one/one.go":      "// Package one counts.\npackage one\n\nimport \"example.com/dep\"\n\n// One is the first.\nconst One = dep.One\n",
		"two/two.go":      "// Package two is alone.\npackage two\n\n// Two is the second.\nfunc Two() int { return 2 }\n",
		"internal/in.go":  "package internal\n",
		"tests/a_test.go": "package tests_test\n",
		"cmd/hello/main.go": `package main

// main greets.
func main() {
	// docs:begin greet
	if true {
		println("hello")
	}
	// docs:end
}
`,
		"cmd/hello/out.txt": "hello\n",
		"cmd/hello/run.py":  "def f():\n    # docs:begin ask\n    x = 1\n    # docs:end\n",
		"docs/py.md":        "<!-- begin: cmd/hello/run.py#ask -->\n<!-- end -->\n",
		"Caddyfile":         "one\n\ntwo\n",
		"docs/list.md":      "- a list\n\n  <!-- begin: Caddyfile -->\n  <!-- end -->\n",
		"sub/go.mod":        "module example.com/sub\n\ngo 1.26\n",
		"sub/a.go":          "package sub\n\n// A is one.\nfunc A() int { return 1 }\n",
		"docs/sub.md":       "<!-- begin: sub/a.go#A -->\n<!-- end -->\n",
		"README.md":         "# M\n\n<!-- begin: cmd/hello/main.go#greet -->\nold\n<!-- end -->\n\ntext\n\n<!-- begin: cmd/hello/out.txt -->\n<!-- end -->\n",
	})
	return root
}

func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, write(filepath.Join(root, name), []byte(text)))
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

func TestRunWritesEveryDocument(t *testing.T) {
	t.Parallel()
	root := repository(t)
	put(t, root, map[string]string{"api/gone.txt": "of a package that was removed"})
	require.NoError(t, run(t.Context(), root, false))

	wantDeps := `# The modules that each public package compiles. Written by ` + "`make docs`" + `.

one
	example.com/dep v1.2.3

two
	the standard library only
`
	assert.Equal(t, wantDeps, read(t, root, "docs/deps.txt"))
	assert.Contains(t, read(t, root, "internal/api/two.txt"), "func Two() int\n    Two is the second.\n")
	entries, err := os.ReadDir(filepath.Join(root, "internal", "api"))
	require.NoError(t, err)
	assert.Len(t, entries, 2, "files of the two public packages")
	assert.Contains(t, read(t, root, "docs/reference.md"), "## two\n\n| package | |\n| --- | --- |\n| [`two`](../two) | Alone. |\n")
	assert.Equal(t, "<!-- begin: cmd/hello/run.py#ask -->\n```python\nx = 1\n```\n<!-- end -->\n", read(t, root, "docs/py.md"))
	assert.Equal(t, "- a list\n\n  <!-- begin: Caddyfile -->\n  ```caddy\n  one\n\n  two\n  ```\n  <!-- end -->\n", read(t, root, "docs/list.md"))
	wantReadme := "# M\n\n<!-- begin: cmd/hello/main.go#greet -->\n```go\nif true {\n\tprintln(\"hello\")\n}\n```\n<!-- end -->\n\ntext\n\n" +
		"<!-- begin: cmd/hello/out.txt -->\n```text\nhello\n```\n<!-- end -->\n"
	assert.Equal(t, wantReadme, read(t, root, "README.md"))
	assert.Contains(t, read(t, root, "docs/sub.md"), "// A is one.\nfunc A()", "code of another module")

	assert.NoError(t, run(t.Context(), root, true), "check after writing")
}

func TestCheckListsStaleFilesAndWritesNothing(t *testing.T) {
	t.Parallel()
	root := repository(t)
	require.NoError(t, run(t.Context(), root, false))
	before := read(t, root, "README.md")
	put(t, root, map[string]string{
		"two/two.go":             "// Package two is alone.\npackage two\n\n// Two is the second.\nfunc Two() int64 { return 2 }\n",
		"cmd/hello/out.txt":      "hello, world\n",
		"internal/api/three.txt": "no such package",
	})
	err := run(t.Context(), root, true)
	require.ErrorContains(t, err, "README.md\n\tinternal/api/three.txt\n\tinternal/api/two.txt")
	assert.Equal(t, before, read(t, root, "README.md"))
}

func TestRunReportsInvalidDocuments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no such file", map[string]string{"README.md": "<!-- begin: nowhere.txt -->\n<!-- end -->"}, "README.md:1: "},
		{"no such part", map[string]string{"README.md": "<!-- begin: two/two.go#Three -->\n<!-- end -->"}, "README.md:1: two/two.go: there is no region and no function Three"},
		{"a file that no package compiles", map[string]string{
			"README.md":  "<!-- begin: two/off.go -->\n<!-- end -->",
			"two/off.go": "//go:build ignore\n\npackage two\n",
		}, "no package compiles two/off.go"},
		{"a file outside", map[string]string{"README.md": "<!-- begin: ../x.txt -->\n<!-- end -->"}, "outside the repository"},
		{"a block without an end", map[string]string{"docs/a.md": "text\n<!-- begin: two/two.go -->\n"}, "docs/a.md:2: the block has no end mark"},
		{"a block in a block", map[string]string{"README.md": "<!-- begin: two/two.go -->\n<!-- begin: two/two.go -->\n<!-- end -->"}, "README.md:2: the block of line 1 has no end mark"},
		{"an end without a begin", map[string]string{"README.md": "\n<!-- end -->"}, "README.md:2: end mark without a begin mark"},
		{"two packages of one name", map[string]string{"under/two/two.go": "package two\n"}, "another public package is named two"},
		{"code that does not compile", map[string]string{"two/bad.go": "package other\n"}, "go list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := repository(t)
			put(t, root, tt.files)
			err := run(t.Context(), root, true)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestExcerptReturnsRegionsAndFunctions(t *testing.T) {
	t.Parallel()
	const source = `package p

// F does it.
func F() {
	// docs:begin inner

	a := 1

	if a > 0 {
		a++
	}
	// docs:end
}

// docs:begin open
var x = 1
`
	tests := []struct{ name, part, want, wantErr string }{
		{name: "a region", part: "inner", want: "a := 1\n\nif a > 0 {\n\ta++\n}"},
		{name: "a function", part: "F", want: "// F does it.\nfunc F() {\n\n\ta := 1\n\n\tif a > 0 {\n\t\ta++\n\t}\n}"},
		{name: "a region without an end", part: "open", wantErr: "region open has no docs:end"},
		{name: "neither", part: "G", wantErr: "no region and no function G"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := excerpt([]byte(source), tt.part)
			if tt.wantErr != "" {
				require.ErrorContains(t, err, tt.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
	whole, err := excerpt([]byte(source), "")
	require.NoError(t, err)
	assert.NotContains(t, string(whole), "docs:begin", "the whole file without marks")
}

func TestRunLengthensTheFenceOfFencedText(t *testing.T) {
	t.Parallel()
	root := repository(t)
	put(t, root, map[string]string{
		"cmd/hello/out.txt": "```\nfenced\n```\n",
		"README.md":         "<!-- begin: cmd/hello/out.txt -->\n<!-- end -->\n",
	})
	require.NoError(t, run(t.Context(), root, false))
	want := "<!-- begin: cmd/hello/out.txt -->\n````text\n```\nfenced\n```\n````\n<!-- end -->\n"
	assert.Equal(t, want, read(t, root, "README.md"))
}
