package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// A document is a Markdown file.
type document struct {
	path     string // from the root of the repository
	prose    []line // the lines outside of code blocks
	blocks   []block
	anchors  map[string]bool
	headings []string
}

type line struct {
	number int
	text   string
}

// A block is a code block.
type block struct {
	line     int
	language string
	source   string // the file that docgen quotes, or empty
	text     string
}

var (
	quote   = regexp.MustCompile(`^ *<!-- begin: ([^\s#]+)`)
	fence   = regexp.MustCompile("^\\s*(`{3,})\\s*(\\w*)")
	heading = regexp.MustCompile(`^#{1,6} (.*?)(?: \{.*\})?$`)
	markup  = regexp.MustCompile("[`*]|\\]\\([^)]*\\)|[\\[]")
	notSlug = regexp.MustCompile(`[^\p{L}\p{M}\p{N}\p{Pc} -]`)
	htmlID  = regexp.MustCompile(`\sid="([^"]+)"`)
)

// documents returns every Markdown file of the repository.
func documents(t *testing.T) []document {
	t.Helper()
	var docs []document
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && path != root
		if d.IsDir() && (hidden || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		docs = append(docs, parse(filepath.ToSlash(name), string(text)))
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, docs)
	return docs
}

func parse(path, text string) document {
	d := document{path: path, anchors: make(map[string]bool)}
	source, open := "", ""
	for i, l := range strings.Split(text, "\n") {
		mark := fence.FindStringSubmatch(l)
		switch {
		case open != "" && mark != nil && mark[1] == open && strings.TrimSpace(l) == open:
			open = ""
		case open != "":
			last := &d.blocks[len(d.blocks)-1]
			last.text += l + "\n"
		case mark != nil:
			open = mark[1]
			d.blocks = append(d.blocks, block{line: i + 1, language: mark[2], source: source})
		default:
			if m := quote.FindStringSubmatch(l); m != nil {
				source = m[1]
			} else if strings.TrimSpace(l) == "<!-- end -->" {
				source = ""
			}
			d.prose = append(d.prose, line{i + 1, l})
			d.addAnchors(l)
		}
	}
	return d
}

func (d *document) addAnchors(l string) {
	if m := heading.FindStringSubmatch(l); m != nil {
		d.headings = append(d.headings, m[1])
		slug := slug(m[1])
		for n := 1; d.anchors[slug]; n++ {
			slug = strings.TrimSuffix(slug, "-"+strconv.Itoa(n-1)) + "-" + strconv.Itoa(n)
		}
		d.anchors[slug] = true
	}
	for _, m := range htmlID.FindAllStringSubmatch(l, -1) {
		d.anchors[m[1]] = true
	}
}

// slug returns the anchor that GitHub gives to a heading.
func slug(heading string) string {
	text := strings.ToLower(markup.ReplaceAllString(heading, ""))
	return strings.ReplaceAll(notSlug.ReplaceAllString(text, ""), " ", "-")
}

// pages returns the pages of the documentation site, from the folder docs.
func pages(docs []document) []string {
	var names []string
	for _, d := range docs {
		if name, ok := strings.CutPrefix(d.path, "docs/"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
