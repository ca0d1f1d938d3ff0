package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// runner matches the files that run, read or load the other files of a folder.
	runner = regexp.MustCompile(`(_test\.go|\.test\.mjs|^test_.*\.py|^(main|chat|threads)\.js|tsconfig\.json|^deployment)$`)

	// numbered matches the programs that a test finds by their numbers.
	numbered = regexp.MustCompile(`^internal/clients/python/docs/0\d_\w+\.py$`)
)

// Code that nothing runs is wrong sooner or later. A block of code is quoted by docgen from a file that a test or a target
// of the Makefile compiles, runs or reads, or its commands are checked by TestCommandsInDocumentsExist. A block of the
// language text is no code. See CONTRIBUTING.md.
func TestEachBlockOfCodeIsProved(t *testing.T) {
	t.Parallel()
	runners := runnersOf(t)
	languages := map[string]int{}
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			languages[b.language]++
			switch {
			case b.language == "text" || b.language == "sh":
			case b.source == "":
				t.Errorf("%s:%d: nothing proves this block of %q: let docgen quote a file that a test runs, or, if it is no code, name the language text", d.path, b.line, b.language)
			case b.language != "go":
				assert.True(t, runs(runners, b.source), "%s:%d: no test names %s", d.path, b.line, b.source)
			}
		}
	}
	t.Log(languages)
	require.Greater(t, languages["go"], 300, "the test finds blocks")
}

// runs reports whether one of the runners is the file, or names it.
func runs(runners []string, file string) bool {
	name := path.Base(file)
	switch path.Ext(name) {
	case ".ts":
		name = `"` + strings.TrimPrefix(path.Dir(file), "server/ui/") + `"` // tsconfig.json names folders
	case ".tsx":
		name = "./" + strings.TrimSuffix(name, ".tsx") + `"` // a module imports it without its extension
	}
	return runner.MatchString(name) || numbered.MatchString(file) ||
		slices.ContainsFunc(runners, func(r string) bool { return strings.Contains(r, name) })
}

// runnersOf returns the text of the files that run others.
func runnersOf(t *testing.T) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != root || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !runner.MatchString(d.Name()) {
			return nil
		}
		text, err := os.ReadFile(name)
		all = append(all, string(text))
		return err
	}))
	return all
}
