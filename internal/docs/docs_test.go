package docs

import (
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
	link    = regexp.MustCompile(`\]\(([^)\s]+)(?:\s+"[^"]*")?\)`)
	code    = regexp.MustCompile("`[^`]*`")
	foreign = regexp.MustCompile(`^[a-z]+:`)
)

func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	byPath := make(map[string]document)
	for _, d := range docs {
		byPath[d.path] = d
	}
	links := 0
	for _, d := range docs {
		for _, l := range d.prose {
			for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(l.text, "code"), -1) {
				if foreign.MatchString(m[1]) {
					continue
				}
				links++
				name, anchor, _ := strings.Cut(m[1], "#")
				target := d.path
				if name != "" {
					target = path.Join(path.Dir(d.path), name)
				}
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
					t.Errorf("%s:%d: link %s: there is no file %s", d.path, l.number, m[1], target)
					continue
				}
				if anchor != "" && path.Ext(target) == ".md" && !byPath[target].anchors[anchor] {
					t.Errorf("%s:%d: link %s: %s has no heading with this anchor", d.path, l.number, m[1], target)
				}
				if anchor != "" && path.Ext(target) == "" && !declared(t, target)[anchor] {
					t.Errorf("%s:%d: link %s: package %s declares no %s", d.path, l.number, m[1], target, anchor)
				}
			}
		}
	}
	require.Greater(t, links, 300, "the test finds links")
}

var navigation = regexp.MustCompile(`(?m)^ +- (?:[^:\n]+: )?(\S+\.md)$`)

func TestNavigationOfTheSiteHasEveryPageOnce(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile(filepath.Join(root, "site", "mkdocs.yml"))
	require.NoError(t, err)
	var names []string
	for _, m := range navigation.FindAllStringSubmatch(string(config), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	require.Equal(t, pages(documents(t)), names, "the pages in docs/ and those of nav in site/mkdocs.yml")
}

var (
	span = regexp.MustCompile("`[^`]+`")
	name = regexp.MustCompile(`(?:^|[^\w./"-])([a-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)

	// others lists names of other libraries. The packages of these names also exist in
	// Weft.
	others = []string{"anthropic.New", "memory.ConversationBuffer", "memory.ConversationTokenBuffer", "openai.New"}
)

// Documents name only declarations of public packages, as internal/api lists them. The test skips the
// design decisions and the changelog, which also have former names.
func TestNamesInDocumentsAreDeclared(t *testing.T) {
	t.Parallel()
	api := make(map[string]string)
	files, err := filepath.Glob(filepath.Join(root, "internal", "api", "*.txt"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		api[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(text)
	}
	names := 0
	for _, d := range documents(t) {
		if d.path == "CHANGELOG.md" || d.path == "docs/design.md" {
			continue
		}
		for _, l := range d.prose {
			for _, m := range name.FindAllStringSubmatch(strings.Join(span.FindAllString(l.text, -1), " "), -1) {
				text, known := api[m[1]]
				if !known || slices.Contains(others, m[1]+"."+m[2]) {
					continue
				}
				names++
				declared := regexp.MustCompile(`(?m)^\s*(?:func (?:\([^)]*\) )?|type |var |const )?` + m[2] + `\b`)
				assert.Regexp(t, declared, text, "%s:%d: package %s does not declare %s", d.path, l.number, m[1], m[2])
				if m[3] != "" {
					assert.Regexp(t, `\b`+m[3]+`\b`, text, "%s:%d: %s.%s has no %s", d.path, l.number, m[1], m[2], m[3])
				}
			}
		}
	}
	assert.Greater(t, names, 300, "the test finds names")
}
