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

// fileMode is the mode of a new database file. Only the owner can read the file. SQLite
// gives its log and its shared memory the same mode.
const fileMode = 0o600

// resolve returns the absolute path of a file without symbolic links. SQLite derives the
// path of the log from it, so every path of a file must resolve to the same path.
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
		return "", fmt.Errorf("the folder of the file: %w", err)
	}
	return filepath.Join(folder, filepath.Base(abs)), nil
}

// create creates the file if it does not exist. It does not open an existing file, since
// closing the file would release all locks of this process on it.
func create(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil // SQLite reports other errors
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	return f.Close()
}

// dataSource returns the path as a URI. Special characters are escaped, so that SQLite
// finds no parameters in the path.
func dataSource(file string) string {
	p := filepath.ToSlash(file)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // the path begins with a Windows drive
	}
	u := url.URL{Scheme: "file", Path: p}
	return u.String()
}

// File returns the absolute path of the database file without symbolic links. It returns
// "" for a database in memory.
func (d *DB) File() string {
	if d.file == "" {
		return ""
	}
	// Open could not resolve a symbolic link whose target did not exist yet.
	if resolved, err := filepath.EvalSymlinks(d.file); err == nil {
		return resolved
	}
	return d.file
}

// checkFile returns [ErrReplaced] unless the path leads to the file that was
// opened.
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

// explainWrite adds an error of the operating system to SQLite's "disk I/O error". This
// error of SQLite does not distinguish a full disk, an exceeded quota, a file size limit
// and a broken disk. To get the error of the system, explainWrite writes to a temporary
// file in the same folder, at the offset at which SQLite would write.
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
