package deep

import (
	"context"
	"errors"
	"io/fs"

	"github.com/weft-go/weft/state"
)

// Files is a tree of text files. The name of a file begins with a slash, such as /notes/a.md. A
// folder exists if a file is in it. Implementations are safe for concurrent use. [State], [Dir]
// and [Mount] return implementations.
//
// The argument s is the state of the agent. An implementation that stores its files in the
// state reads them there and returns writes. Others ignore it.
type Files interface {
	// List returns the files in a folder and its subfolders, sorted by name. A folder that does
	// not exist has no files.
	List(ctx context.Context, s state.View, dir string) ([]File, error)
	// Read returns the text of a file. A file that does not exist is an [fs.ErrNotExist].
	Read(ctx context.Context, s state.View, name string) (string, error)
	// Write creates or replaces a file. It returns the writes that the agent has to store, or
	// nil.
	Write(ctx context.Context, s state.View, name, text string) (state.Update, error)
	// Channels returns the channels that an agent with these files must have.
	Channels() []state.Handle
}

// A File describes a file.
type File struct {
	Name string
	// Size is the length of the text, in bytes.
	Size int
}

// Errors of files.
var (
	// ErrTooLarge is returned for a file that is too large, and for a folder with too many files.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#deeperrtoolarge.
	ErrTooLarge = errors.New("too large")
	// ErrNotText is returned for a file that is not UTF-8 text or not a regular file.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#deeperrnottext.
	ErrNotText = errors.New("not a text file")
)

// The limits of files.
const (
	maxSize  = 10 << 20 // the size of a file, in bytes
	maxFiles = 10_000   // the number of files in a list
)

// An editor is a Files that can store an edit instead of the whole file.
type editor interface {
	// edit replaces a text in a file. It returns the writes that the agent has to store.
	edit(ctx context.Context, s state.View, e edit) (state.Update, error)
}

// An edit replaces a text in a file.
type edit struct {
	name, old, new string
	all            bool // replace every occurrence and not only the first
	result         string
}

// notExist returns the error for a file that does not exist.
func notExist(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }
