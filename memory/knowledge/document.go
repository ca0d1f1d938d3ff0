package knowledge

import (
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

// A Document is what is to be ingested.
type Document struct {
	// URI names it in its scope: what is ingested under the same URI takes its place.
	URI string
	// Title is what to call it. Empty stands for what it calls itself.
	Title   string
	Version string
	// Format is how it is written. Empty stands for what the URI tells by its ending.
	Format split.Format
	// Trusted says that somebody vouches for what it says: its source is then
	// [memory.Stated], and is found with [Query.Trusted]. Else it is [memory.Untrusted].
	Trusted  bool
	Metadata json.RawMessage
	// Text is what it says, or else Open returns that, which has to be a reader. A document
	// is opened when it is its turn, and closed before the next one is opened.
	Text string
	Open func() (io.ReadCloser, error)
}

// read returns the text, or why it is none.
func (d *Document) read(most int64) (text string, err error) {
	text = d.Text
	if d.Open != nil {
		if text, err = readAll(d.Open, most); err != nil {
			return "", err
		}
	}
	switch {
	case int64(len(text)) > most:
		return "", fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	case strings.IndexByte(text, 0) >= 0:
		return "", fmt.Errorf("%w: it has a NUL", ErrNotText)
	case !utf8.ValidString(text):
		return "", fmt.Errorf("%w: it is not UTF-8", ErrNotText)
	}
	return text, nil
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

// A steady reader fails where one goes on to read nothing.
type steady struct {
	io.Reader
	empty int
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

// Documents are those given.
func Documents(list ...Document) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, d := range list {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Reader is a document that is read when it is its turn, once. It is not trusted, unless the
// caller sets that. A nil reader fails with [memory.ErrInvalid].
func Reader(uri string, r io.Reader) Document {
	return Document{URI: uri, Open: func() (io.ReadCloser, error) {
		if r == nil {
			return nil, fmt.Errorf("the reader is nil: %w", memory.ErrInvalid)
		}
		return io.NopCloser(r), nil
	}}
}

// FolderOptions configures [Folder]. Its zero value takes all files that are not hidden.
type FolderOptions struct {
	// Only, if it has patterns, takes only the files that fit one of them, and
	// Ignore leaves out files, and folders with all that is in them. A pattern is that of
	// [path.Match], for the name of a file or, with a slash in it, for the path
	// from the folder on, where ** stands for any number of folders.
	Only, Ignore []string
	// Hidden takes also what has a name that begins with a dot.
	Hidden bool
	// Prefix comes before the path, to make the URI.
	Prefix string
	// Trusted and Version are those of all documents.
	Trusted bool
	Version string
}

// Folder yields the files of a folder and of all below it, in order of their paths. With
// a document there may be an error, which is of that file, or of a folder that can not be
// read, and the next ones follow. Symbolic links are not followed but an [ErrNotRegular].
//
// [os.Root.FS] is a folder that nothing can lead out of, even if it changes while it is
// read.
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

// visit yields a file.
func (o *FolderOptions) visit(fsys fs.FS, name string, entry fs.DirEntry, err error, yield func(Document, error) bool) error {
	d := Document{URI: o.Prefix + name, Trusted: o.Trusted, Version: o.Version}
	isFolder := entry != nil && entry.IsDir()
	switch {
	case name != "." && o.left(name, isFolder):
		if isFolder {
			return fs.SkipDir
		}
		return nil
	case err != nil: // of a folder, or of the whole
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

// openRegular opens a file, if it is still one.
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
		_ = f.Close() // it was only looked at
		return nil, err
	}
	return f, nil
}

// notRegular says what a file is that is none.
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

// left says that a file or folder is left out.
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

// matches says that a pattern fits a name, or a path.
func matches(pattern, name string) bool {
	pattern = strings.TrimSuffix(pattern, "/")
	if !strings.Contains(pattern, "/") {
		ok, err := path.Match(pattern, path.Base(name))
		return ok && err == nil
	}
	return matchParts(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), strings.Split(name, "/"))
}

// matchParts remembers the last ** alone, as any that are before it have done their part.
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
