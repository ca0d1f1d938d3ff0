package docs

import (
	"fmt"
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
	// test matches the files that a target of the Makefile runs without naming them.
	test = regexp.MustCompile(`(_test\.go|\.test\.mjs|^test_.*\.py)$`)

	// runner matches the files that run, read or load the other files of a folder.
	runner = regexp.MustCompile(test.String() + `|^((main|chat|threads)\.js|(index|chat|threads)\.html|tsconfig\.json|deployment)$`)

	// numbered matches the programs that a test finds by their numbers.
	numbered = regexp.MustCompile(`^internal/clients/python/docs/0\d_\w+\.py$`)
)

// Each block of code in a document is tested. Docgen quotes the block from a file that a test or a target of the Makefile
// compiles, runs or reads, or TestCommandsInDocumentsExist checks the commands of the block. A block of the language text
// is not code. See CONTRIBUTING.md.
func TestEachBlockOfCodeIsProved(t *testing.T) {
	t.Parallel()
	runners := runnersOf(t)
	languages := map[string]int{}
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			languages[b.language]++
			if problem := unproved(runners, b); problem != "" {
				t.Errorf("%s:%d: %s", d.path, b.line, problem)
			}
		}
	}
	t.Log(languages)
	require.Greater(t, languages["go"], 300, "the test finds blocks")
}

// unproved returns the reason why a block is not tested, or "" if it is tested.
func unproved(runners []string, b block) string {
	switch {
	case b.language == "text", b.language == "sh" && b.source == "": // TestCommandsInDocumentsExist checks the commands of sh
		return ""
	case b.source == "":
		return fmt.Sprintf("nothing proves this block of %q: let docgen quote a file that a test runs, or, if it is no code, name the language text", b.language)
	case b.language == "go":
		return ""
	}
	return unless(runs(runners, b.source), "no test names "+b.source)
}

func TestUnprovedFindsQuotedFilesThatNothingRuns(t *testing.T) {
	t.Parallel()
	runners := []string{`"./docs/named.sh"`, `src="/src/main.js"`}
	for source, problem := range map[string]string{
		"clients/docs/named.sh": "",
		"clients/docs/other.sh": "no test names clients/docs/other.sh",
		"page/src/main.js":      "",
		"page/src/chat.js":      "no test names page/src/chat.js",
		"page/page.test.mjs":    "",
	} {
		assert.Equal(t, problem, unproved(runners, block{language: strings.TrimPrefix(path.Ext(source), "."), source: source}), source)
	}
	assert.Empty(t, unproved(nil, block{language: "sh"}), "the commands are checked elsewhere")
	assert.NotEmpty(t, unproved(nil, block{language: "js"}))
}

// runs reports whether the file is a test, or one of the runners names it.
func runs(runners []string, file string) bool {
	name := path.Base(file)
	switch path.Ext(name) {
	case ".ts":
		name = `"` + strings.TrimPrefix(path.Dir(file), "server/ui/") + `"` // tsconfig.json names folders
	case ".tsx":
		name = "./" + strings.TrimSuffix(name, ".tsx") + `"` // a module imports it without its extension
	}
	return test.MatchString(name) || numbered.MatchString(file) ||
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
