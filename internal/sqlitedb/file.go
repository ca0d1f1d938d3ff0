package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// fileMode lets only the owner read a database. SQLite gives its log and its
// shared memory the mode of the database file.
const fileMode = 0o600

// resolve returns the path of a file without symbolic links. All names of the file resolve
// to the same path, so SQLite finds its log under every name.
func resolve(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("empty path: %w", ErrPath)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("not a regular file: %w", ErrPath)
	}
	file, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return file, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("its folder: %w", err)
	}
	return filepath.Join(folder, filepath.Base(abs)), nil
}

// create creates the file if it does not exist. It does not open an existing file, because
// closing it would release the locks of this process on it.
func create(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil // SQLite reports other errors.
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	return f.Close()
}

// dataSource returns the path as a URI, so that SQLite does not parse a part of it as a
// parameter.
func dataSource(file string) string {
	p := filepath.ToSlash(file)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a Windows drive
	}
	u := url.URL{Scheme: "file", Path: p}
	return u.String()
}

// File returns the path of the file without symbolic links. It is empty for a database in
// memory.
func (d *DB) File() string {
	if d.file == "" {
		return ""
	}
	// A symbolic link may have had no target before the file was created.
	if resolved, err := filepath.EvalSymlinks(d.file); err == nil {
		return resolved
	}
	return d.file
}

// checkFile returns [ErrReplaced] unless the path names the file that was opened.
func (d *DB) checkFile() error {
	if d.opened == nil {
		return nil
	}
	info, err := os.Stat(d.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(info, d.opened) {
		return fmt.Errorf("%q: %w", d.file, ErrReplaced)
	}
	return nil
}

// explainWrite adds the operating system's error to SQLite's "disk I/O error". SQLite
// returns this error for a full disk, an exceeded quota, a file size limit and a broken
// disk. To find the cause, explainWrite writes to a temporary file in the same folder, at
// the offset at which SQLite would write.
func (d *DB) explainWrite(err error) error {
	if d.file == "" || !isWriteError(err) {
		return err
	}
	end := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(d.file + suffix); err == nil {
			end = max(end, info.Size())
		}
	}
	f, probe := os.CreateTemp(filepath.Dir(d.file), filepath.Base(d.file)+"-probe")
	if probe != nil {
		return errors.Join(err, probe)
	}
	_, probe = f.WriteAt(make([]byte, pageSize), end)
	return errors.Join(err, probe, f.Close(), os.Remove(f.Name()))
}
