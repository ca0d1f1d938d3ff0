// Package textfile searches a text file, reads its lines, counts its words and finds its
// headings. It does not depend on agents; the quickstart makes tools of its methods.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxSize is the greatest size of a file in bytes.
const MaxSize = 8 << 20

// maxText is the greatest number of characters of a line that are shown.
const maxText = 300

// A File holds the lines of a text file at the time when it was opened. It does not
// change, and is safe for concurrent use.
type File struct {
	path   string
	name   string // the path without its folder
	lines  []string
	words  [][]string // of each line, folded
	prose  bool       // text, not code
	blocks []block
}

// A Line is a line of the file with its number, counted from 1. Long lines are cut.
type Line struct {
	Number int    `json:"line"`
	Text   string `json:"text"`
}

// Open reads a file. Its errors name the file and the reason.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return nil, fmt.Errorf("file %s: %w", path, cause(err))
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, not a text file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", path, cause(err))
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("file %s: %w", path, cause(err))
	}
	return Parse(path, data)
}

// Parse is like Open for data that was read already.
func Parse(path string, data []byte) (*File, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > MaxSize:
		return nil, fmt.Errorf("%s has more than %d MB", path, MaxSize>>20)
	case bytes.IndexByte(data, 0) >= 0:
		return nil, fmt.Errorf("%s is a binary file, not text", path)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not UTF-8 text", path)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	}
	f := &File{path: path, name: filepath.Base(path)}
	f.lines = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	f.words = make([][]string, len(f.lines))
	for i, line := range f.lines {
		f.lines[i] = strings.TrimSuffix(line, "\r")
		f.words[i] = foldedWords(line)
	}
	f.prose = slices.Contains(proseFiles, strings.ToLower(filepath.Ext(path)))
	f.blocks = f.divide()
	return f, nil
}

// cause removes the system call and the path from an error, since the caller's message
// names the path.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Name is the file's name without its folder.
func (f *File) Name() string { return f.name }

// Len is the number of lines.
func (f *File) Len() int { return len(f.lines) }

// line returns the line at an index, ready to be shown.
func (f *File) line(i int) Line { return Line{Number: i + 1, Text: shown(f.lines[i], maxText)} }

// shown returns a text without control characters, which could change a terminal,
// and cut to a length in characters.
func shown(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return ' '
		}
		return r
	}, strings.TrimRightFunc(s, unicode.IsSpace))
	if n := 0; len(s) > most {
		for i := range s {
			if n++; n > most {
				return s[:i] + "…"
			}
		}
	}
	return s
}
