package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunWritesAPageForEachPublicPackage(t *testing.T) {
	t.Parallel()
	root, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.com/m\n\ngo 1.26\n",
		"one/one.go":      "// Package one counts, see [two.T.M] and [Number.Add].\npackage one\n\n// A Number is a number.\ntype Number struct {\n\tValue int\n}\n\n// Add returns n and 1, or an error of [os.Open].\nfunc (n Number) Add() int { return n.Value + 1 }\n",
		"one/one_test.go": "package one_test\n\nimport \"fmt\"\n\nfunc ExampleNumber_Add() {\n\tfmt.Println(2)\n\t// Output: 2\n}\n",
		"two/three/t.go":  "// Package three uses [example.com/m/one.Number.Value].\npackage three\n\nconst A, b = 1, 2\n",
		"internal/i/i.go": "package i\n",
		"cmd/c/main.go":   "package main\n\nfunc main() {}\n",
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.NoError(t, run(root, out))

	one, err := os.ReadFile(filepath.Join(out, "one.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"# Package one\n\n```go\nimport \"example.com/m/one\"\n```\n",
		`see \[two.T.M] and [Number.Add](#Number.Add).`,
		"### type Number { #Number }\n\n<span id=\"Number.Value\"></span>",
		"### func (Number) Add { #Number.Add }\n\n```go\nfunc (n Number) Add() int\n```\n",
		"??? example \"Example\"\n\n    ```go\n    fmt.Println(2)\n    ```\n\n    Output:\n\n    ```text\n    2\n    ```\n",
	} {
		assert.Contains(t, string(one), want)
	}
	three, err := os.ReadFile(filepath.Join(out, "two", "three.md"))
	require.NoError(t, err)
	assert.Contains(t, string(three), "(../one.md#Number.Value)")
	assert.NotContains(t, string(three), "id=\"b\"", "a name that is not exported has no anchor")
	assert.NoFileExists(t, filepath.Join(out, "internal", "i.md"))
	assert.NoFileExists(t, filepath.Join(out, "cmd", "c.md"))
}

// Each name in brackets in a doc comment is the name of a declaration, and so becomes a link.
func TestDocumentationOfWeftNamesWhatExists(t *testing.T) {
	t.Parallel()
	pkgs, err := list("../..")
	require.NoError(t, err)
	for _, p := range pkgs {
		text, err := page(p, pkgs)
		require.NoError(t, err)
		assert.Empty(t, regexp.MustCompile(`\\\[[A-Z][\w.]*\]`).FindAllString(string(text), -1), "%s: no such names", p.ImportPath)
	}
}

// Each link of the reference to a declaration leads to an anchor that exists.
func TestLinksOfTheReferenceHaveTheirAnchors(t *testing.T) {
	t.Parallel()
	pkgs, err := list("../..")
	require.NoError(t, err)
	anchors, pages := map[string]bool{}, map[string]string{}
	for _, p := range pkgs {
		text, err := page(p, pkgs)
		require.NoError(t, err)
		name := p.path() + ".md"
		pages[name] = string(text)
		for _, m := range regexp.MustCompile(`\{ #([\w.]+) \}|<span id="([\w.]+)">`).FindAllStringSubmatch(string(text), -1) {
			anchors[name+"#"+m[1]+m[2]] = true
		}
	}
	links := 0
	for name, text := range pages {
		for _, m := range regexp.MustCompile(`\]\(([\w./]*\.md)?#([A-Z][\w.]*)\)`).FindAllStringSubmatch(text, -1) {
			to := name
			if m[1] != "" {
				to = path.Join(path.Dir(name), m[1])
			}
			links++
			assert.True(t, anchors[to+"#"+m[2]], "%s: the link to %s#%s has no anchor", name, to, m[2])
		}
	}
	assert.Greater(t, links, 1000)
}

func TestRunNeedsAFolder(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(".", ""), "-out")
}
