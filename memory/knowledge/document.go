package knowledge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// A Document is a document to ingest.
type Document struct {
	// URI identifies the document in its scope. A document replaces the earlier document with
	// the same URI.
	URI string
	// Title is the title of the document. Empty means the title in its text.
	Title   string
	Version string
	// Format is the format of the text. Empty means the format of the URI's extension.
	Format split.Format
	// Extractor, if not nil, extracts the text, its format and its title from Text or Open. The
	// offsets of chunks, the size and the hash refer to the extracted text. An error of the
	// extractor fails the document.
	Extractor Extractor
	// Trusted documents have the trust [memory.Stated] and are found with [Query.Trusted]. Other
	// documents have [memory.Untrusted]. Set it if the content is from a source that you trust.
	Trusted  bool
	Metadata json.RawMessage
	// Text is the content. If Open is not nil, the content comes from the reader that it
	// returns. A document is opened after the previous document was closed.
	Text string
	Open func() (io.ReadCloser, error)
}

// read returns the text, or an error if there is none. The argument most limits the bytes of the
// file and of its text.
func (d *Document) read(ctx context.Context, most int64) (got Extracted, err error) {
	got.Text = d.Text
	if d.Open != nil {
		if got.Text, err = readAll(d.Open, most); err != nil {
			return Extracted{}, err
		}
	}
	if int64(len(got.Text)) > most {
		return Extracted{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	}
	if d.Extractor != nil {
		if got, err = d.extract(ctx, []byte(got.Text)); err != nil {
			return Extracted{}, fmt.Errorf("extract the text of %.200q: %w", d.URI, err)
		}
	}
	switch {
	case int64(len(got.Text)) > most:
		return Extracted{}, fmt.Errorf("%w: its text has more than %d bytes", ErrTooLarge, most)
	case strings.IndexByte(got.Text, 0) >= 0:
		return Extracted{}, fmt.Errorf("%w: it has a NUL", ErrNotText)
	case !utf8.ValidString(got.Text):
		return Extracted{}, fmt.Errorf("%w: it is not UTF-8", ErrNotText)
	}
	return got, nil
}

// extract runs the extractor and sets the format.
func (d *Document) extract(ctx context.Context, file []byte) (Extracted, error) {
	got, err := d.Extractor.Extract(ctx, file)
	if err != nil {
		return Extracted{}, err
	}
	if got.Format == "" {
		got.Format = split.Plain
	}
	if err := got.Format.Validate(); err != nil {
		return Extracted{}, fmt.Errorf("%w: %w", memory.ErrInvalid, err)
	}
	return got, nil
}

func readAll(open func() (io.ReadCloser, error), most int64) (string, error) {
	r, err := open()
	if err != nil {
		return "", err
	}
	if r == nil {
		return "", fmt.Errorf("neither a reader nor an error from Open: %w", memory.ErrInvalid)
	}
	var b strings.Builder
	_, err = io.Copy(&b, io.LimitReader(&steady{Reader: r}, most+1))
	if closed := r.Close(); err == nil {
		err = closed
	}
	return b.String(), err
}

// A steady reader fails if its reader returns no bytes many times in a row.
type steady struct {
	io.Reader
	empty int // the number of consecutive reads without bytes
}

func (s *steady) Read(p []byte) (int, error) {
	const most = 100
	n, err := s.Reader.Read(p)
	if n > 0 || err != nil {
		s.empty = 0
		return n, err
	}
	if s.empty++; s.empty == most {
		err = io.ErrNoProgress
	}
	return 0, err
}

// Documents returns the documents for [Base.Ingest].
func Documents(list ...Document) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, d := range list {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Reader returns a document that is read once, from r. A caller may set further fields, such as
// Trusted and Extractor. A nil reader fails the document with [memory.ErrInvalid].
func Reader(uri string, r io.Reader) Document {
	return Document{URI: uri, Open: func() (io.ReadCloser, error) {
		if r == nil {
			return nil, fmt.Errorf("the reader is nil: %w", memory.ErrInvalid)
		}
		return io.NopCloser(r), nil
	}}
}

// FolderOptions configures [Folder]. Its zero value selects all files that are not hidden. Metadata is set in the
// documents that Folder yields, as the example "Metadata" does.
type FolderOptions struct {
	// Only, if not empty, selects the files that match one of its patterns. Ignore excludes
	// files and folders that match. A pattern has the syntax of [path.Match]. It is matched
	// with the name of a file or, if it has a slash, with the path below the folder, where **
	// matches any number of folders.
	Only, Ignore []string
	// Hidden also selects files and folders whose name begins with a dot.
	Hidden bool
	// Prefix is put before the path of a file to make its URI.
	Prefix string
	// Extractors, by file extension, extract the text of files of other formats.
	Extractors Extractors
	// Trusted and Version are set in all documents.
	Trusted bool
	Version string
}

// Folder yields the files of a folder and its subfolders, in the order of their paths. A file or
// folder that cannot be read is yielded with its error, and the next files follow. Symbolic
// links are not followed: they are yielded with [ErrNotRegular].
//
// With [os.Root.FS] no file outside of the folder is read, even if the folder changes meanwhile.
func Folder(fsys fs.FS, o FolderOptions) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, pattern := range append(o.Only[:len(o.Only):len(o.Only)], o.Ignore...) {
			if _, err := path.Match(strings.ReplaceAll(pattern, "**", "*"), ""); err != nil {
				yield(Document{}, fmt.Errorf("pattern %q: %w: %w", pattern, memory.ErrInvalid, err))
				return
			}
		}
		err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
			return o.visit(fsys, name, entry, err, yield)
		})
		if err != nil {
			yield(Document{URI: o.Prefix}, err)
		}
	}
}

// visit yields a file, unless it is excluded.
func (o *FolderOptions) visit(fsys fs.FS, name string, entry fs.DirEntry, err error, yield func(Document, error) bool) error {
	d := Document{URI: o.Prefix + name, Trusted: o.Trusted, Version: o.Version, Extractor: o.Extractors.For(path.Base(name))}
	isFolder := entry != nil && entry.IsDir()
	switch {
	case name != "." && o.left(name, isFolder):
		if isFolder {
			return fs.SkipDir
		}
		return nil
	case err != nil: // the folder cannot be read
	case isFolder:
		return nil
	case !entry.Type().IsRegular():
		err = notRegular(entry.Type())
	default:
		d.Open = func() (io.ReadCloser, error) { return openRegular(fsys, name) }
	}
	if !yield(d, err) {
		return fs.SkipAll
	}
	return nil
}

// openRegular opens a file. It fails if the file is no longer regular.
func openRegular(fsys fs.FS, name string) (io.ReadCloser, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(info.Mode())
	}
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, err
	}
	return f, nil
}

// notRegular returns an error with the type of a file that is not regular.
func notRegular(mode fs.FileMode) error {
	what := "something else"
	for _, kind := range []struct {
		bit  fs.FileMode
		name string
	}{
		{fs.ModeSymlink, "a symbolic link, which is not followed"},
		{fs.ModeDir, "a folder"},
		{fs.ModeNamedPipe, "a named pipe"},
		{fs.ModeSocket, "a socket"},
		{fs.ModeDevice, "a device"},
	} {
		if mode&kind.bit != 0 {
			what = kind.name
			break
		}
	}
	return fmt.Errorf("%w: %s", ErrNotRegular, what)
}

// left reports whether a file or folder is excluded.
func (o *FolderOptions) left(name string, isFolder bool) bool {
	if !o.Hidden && strings.HasPrefix(path.Base(name), ".") {
		return true
	}
	fits := func(pattern string) bool { return matches(pattern, name) }
	for _, pattern := range o.Ignore {
		if fits(pattern) {
			return true
		}
	}
	if isFolder || len(o.Only) == 0 {
		return false
	}
	for _, pattern := range o.Only {
		if fits(pattern) {
			return false
		}
	}
	return true
}

// matches reports whether a pattern matches the name or the path of a file.
func matches(pattern, name string) bool {
	pattern = strings.TrimSuffix(pattern, "/")
	if !strings.Contains(pattern, "/") {
		ok, err := path.Match(pattern, path.Base(name))
		return ok && err == nil
	}
	return matchParts(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), strings.Split(name, "/"))
}

// matchParts matches a path part by part. It backtracks only to the last **, since the parts
// before it cannot match better.
func matchParts(pattern, parts []string) bool {
	star, from, p := -1, 0, 0
	for at := 0; at < len(parts); {
		if p < len(pattern) && pattern[p] == "**" {
			star, from = p, at
			p++
			continue
		}
		if p < len(pattern) {
			if ok, err := path.Match(pattern[p], parts[at]); ok && err == nil {
				p++
				at++
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, at = star+1, from
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}
