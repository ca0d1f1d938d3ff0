package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/weft-go/weft/memory/knowledge"
)

// formats has the patterns of the names of the files to ingest.
var formats = []string{
	"*.md", "*.markdown", "*.txt", "*.text", "*.rst", "*.html", "*.htm", "*.json", "*.jsonl", "*.csv", "*.log", "README", "LICENSE",
}

func taken(name string) bool {
	for _, pattern := range formats {
		if ok, err := path.Match(pattern, path.Base(name)); ok && err == nil {
			return true
		}
	}
	return false
}

func (c *command) ingest(ctx context.Context, base *knowledge.Base) error {
	prefix, err := prefixOf(c.argument)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.argument) // links cannot lead out of the folder
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	files := knowledge.FolderOptions{Prefix: prefix}
	all, documents := c.look(ctx, knowledge.Folder(root.FS(), files))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if documents == 0 && c.prune && !c.pruneAll {
		return fmt.Errorf("%w: there is nothing to take in below %s, so -prune would remove all documents from there; -prune-all does that", errUsage, quoted(prefix))
	}
	run := base.Ingest(ctx, c.scope(), func(yield func(knowledge.Document, error) bool) {
		for d, err := range knowledge.Folder(root.FS(), files) {
			if (err != nil || taken(d.URI)) && !yield(d, err) {
				return
			}
		}
	}, knowledge.IngestOptions{Prune: c.prune || c.pruneAll, Under: prefix})
	return c.show(run, all)
}

// look prints the names of the files that ingest leaves out. It returns the number of all other
// files, and the number of documents among them.
func (c *command) look(ctx context.Context, folder iter.Seq2[knowledge.Document, error]) (all, documents int) {
	out := leftOut{out: c.out}
	for d, err := range folder {
		if ctx.Err() != nil {
			break
		}
		if err == nil && !taken(d.URI) {
			out.name(d.URI)
			continue
		}
		all++ // includes files that cannot be read; ingest reports them
		if err == nil {
			documents++
		}
	}
	out.end()
	return all, documents
}

// prefixOf returns the prefix of the names of a folder's documents: its absolute path, so that
// documents of two folders have different names.
func prefixOf(folder string) (string, error) {
	whole, err := filepath.Abs(folder)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	return strings.TrimSuffix(filepath.ToSlash(whole), "/") + "/", err
}

// leftOut prints the names of the files that ingest leaves out, up to maxNamed.
type leftOut struct {
	out io.Writer
	n   int
}

const maxNamed = 20

func (l *leftOut) name(uri string) {
	if l.n++; l.n <= maxNamed {
		fmt.Fprintf(l.out, "left out  %s\n", quoted(uri))
	}
}

func (l *leftOut) end() {
	if l.n > 0 {
		fmt.Fprintf(l.out, "%d files left out, which by their names are neither text, Markdown, HTML nor JSON", l.n)
		if l.n > maxNamed {
			fmt.Fprintf(l.out, "; the first %d are named", maxNamed)
		}
		fmt.Fprintln(l.out)
	}
}
