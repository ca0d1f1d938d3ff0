package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	beginMark = regexp.MustCompile(`^( *)<!-- begin: ([^#\s]+)(?:#(\S+))? -->$`)
	endMark   = regexp.MustCompile(`^ *<!-- end -->$`)

	// languages maps the extension or the name of a file to its language, if the extension
	// is not the name of the language.
	languages = map[string]string{
		"txt": "text", "mjs": "js", "py": "python", "conf": "nginx", "service": "ini", "jsonl": "json",
		"Caddyfile": "caddy", "Dockerfile": "dockerfile",
	}
)

// documents returns the content of the Markdown files with current code blocks. The map
// compiled contains the Go files that a block may quote.
func documents(root string, compiled map[string]bool) (map[string][]byte, error) {
	docs := make(map[string][]byte)
	var mistakes []error
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && path != root
		if d.IsDir() && (hidden || d.Name() == "testdata") {
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
		if err != nil {
			return err
		}
		q := quoter{root: root, doc: name, compiled: compiled}
		docs[name] = q.fill(text)
		mistakes = append(mistakes, q.mistakes...)
		return nil
	})
	return docs, errors.Join(append(mistakes, err)...)
}

// A quoter updates the code blocks of one document.
type quoter struct {
	root     string
	doc      string
	compiled map[string]bool
	mistakes []error
}

func (q *quoter) fill(text []byte) []byte {
	var out bytes.Buffer
	open := 0 // the line of the begin mark of the current block, or 0 outside of blocks
	for i, line := range bytes.Split(text, []byte("\n")) {
		n := i + 1
		begin := beginMark.FindSubmatch(line)
		switch {
		case begin != nil && open > 0:
			q.mistake(n, fmt.Errorf("the block of line %d has no end mark", open))
		case begin != nil:
			open = n
			out.Write(append(line, '\n'))
			if err := q.quote(&out, begin[1], string(begin[2]), string(begin[3])); err != nil {
				q.mistake(n, err)
			}
			continue
		case endMark.Match(line) && open == 0:
			q.mistake(n, errors.New("end mark without a begin mark"))
		case endMark.Match(line):
			open = 0
		}
		if open == 0 {
			out.Write(append(line, '\n'))
		}
	}
	if open > 0 {
		q.mistake(open, errors.New("the block has no end mark"))
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func (q *quoter) mistake(line int, err error) {
	q.mistakes = append(q.mistakes, fmt.Errorf("%s:%d: %w", q.doc, line, err))
}

// nested reports whether a file belongs to another module of the repository, whose own tests
// compile it.
func nested(root, name string) bool {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// quote writes a part of a file as a fenced code block. A block of a list is indented.
func (q *quoter) quote(out *bytes.Buffer, indent []byte, name, part string) error {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		return fmt.Errorf("%s is outside the repository", name)
	}
	if filepath.Ext(local) == ".go" && !q.compiled[local] && !nested(q.root, local) {
		return fmt.Errorf("no package compiles %s", name)
	}
	text, err := os.ReadFile(filepath.Join(q.root, local))
	if err != nil {
		return err
	}
	quoted, err := excerpt(text, part)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	language := strings.TrimPrefix(cmp.Or(filepath.Ext(local), filepath.Base(local)), ".")
	language = cmp.Or(languages[language], language)
	fence := "```"
	for bytes.Contains(quoted, []byte(fence)) {
		fence += "`"
	}
	for l := range strings.Lines(fmt.Sprintf("%s%s\n%s\n%s\n", fence, language, quoted, fence)) {
		if l != "\n" {
			out.Write(indent)
		}
		out.WriteString(l)
	}
	return nil
}
