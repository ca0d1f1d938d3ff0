package deep

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weft-go/weft/state"
)

// Dir returns the files of a folder. Names cannot leave the folder: "..", absolute names and symbolic
// links to places outside are refused, even if a link is changed during a call ([os.Root]). Hard links and
// mounts inside the folder are followed. Only regular files are read and listed. Lists leave out files
// whose names the tools refuse, and folders that the program may not read. The agent changes the
// folder at once: a fork of the thread does not undo a change. Close the root when no run uses the files
// any more.
//
// A write replaces the whole file: it writes a temporary file in the same folder and renames it.
// Edits of one file at the same time are made one after another, and none is lost.
func Dir(root *os.Root) Files { return dirFiles{root, &sync.Mutex{}} }

type dirFiles struct {
	root    *os.Root
	editing *sync.Mutex
}

func (dirFiles) Channels() []state.Handle { return nil }

// local returns the name of a file from the root of the folder.
func local(name string) string {
	if name = strings.TrimPrefix(name, "/"); name == "" {
		return "."
	}
	return name
}

func (d dirFiles) List(ctx context.Context, _ state.View, dir string) ([]File, error) {
	var list []File
	err := fs.WalkDir(d.root.FS(), local(dir), func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process removed it
			return nil
		case name != local(dir) && !usable(name):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case errors.Is(err, fs.ErrPermission) && name != local(dir):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), temporary):
			return nil
		case len(list) >= maxFiles:
			return fmt.Errorf("%s: %w: it has more than %d files; list a folder below it", dir, ErrTooLarge, maxFiles)
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			list = append(list, File{"/" + name, int(info.Size())})
		}
		return err
	})
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return list, err
}

// usable reports whether tools can name a file or folder.
func usable(local string) bool {
	name, err := clean(local)
	return err == nil && name == "/"+local
}

func (d dirFiles) Read(_ context.Context, _ state.View, name string) (_ string, err error) {
	f, err := d.root.OpenFile(local(name), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: %w", name, ErrNotText)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxSize:
		return "", fmt.Errorf("%s: %w: the limit is %d bytes", name, ErrTooLarge, maxSize)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%s: %w", name, ErrNotText)
	}
	return string(data), nil
}

// temporary is the prefix of the names of temporary files.
const temporary = ".weft-"

func (d dirFiles) Write(_ context.Context, _ state.View, name, text string) (_ state.Update, err error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("%s: %w: %d bytes; the limit is %d", name, ErrTooLarge, len(text), maxSize)
	}
	if strings.HasPrefix(path.Base(name), temporary) {
		return nil, fmt.Errorf("%s: %w: files that begin with %s are being written", name, ErrName, temporary)
	}
	name = local(name)
	mode := fs.FileMode(0o644)
	switch info, err := d.root.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("/%s: %w", name, ErrNotText)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	dir := path.Dir(name)
	if err := d.root.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	written := path.Join(dir, temporary+rand.Text())
	f, err := d.root.OpenFile(written, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.root.Rename(written, name)
	}
	if err != nil {
		return nil, errors.Join(err, d.root.Remove(written))
	}
	return nil, nil
}

// edit applies the edit to the current text of the file.
func (d dirFiles) edit(ctx context.Context, s state.View, e edit) (state.Update, error) {
	d.editing.Lock()
	defer d.editing.Unlock()
	text, err := d.Read(ctx, s, e.name)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(text, e.old) {
		return nil, fmt.Errorf("old_string is no longer in %s; read the file again", e.name)
	}
	return d.Write(ctx, s, e.name, replace(text, e.old, e.new, e.all))
}
