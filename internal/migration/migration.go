// Package migration reads the numbered SQL scripts that migrate the database of a store. It
// computes how many of the scripts were applied. It does not connect to a database.
package migration

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// ErrSchema is returned if the migrations that were applied to a database are not the first
// migrations of the list.
var ErrSchema = errors.New("unknown schema")

// A Migration changes a schema from the previous version to Version.
type Migration struct {
	// Version counts from 1.
	Version int
	// Name is the name of the file without its extension, such as "001_facts". It begins with
	// the version.
	Name string
	// Script is the SQL text of the file.
	Script string
	// Checksum is the SHA-256 of the script, in hexadecimal.
	Checksum string
}

// Read reads the migrations in a folder. The names of the files are 001_name.sql,
// 002_name.sql and so on, without a gap.
func Read(files fs.FS, folder string) ([]Migration, error) {
	names, err := fs.Glob(files, path.Join(folder, "*.sql")) // sorted
	if err != nil {
		return nil, fmt.Errorf("migration: %w", err)
	}
	list := make([]Migration, 0, len(names))
	for i, file := range names {
		b, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("migration: %w", err)
		}
		name := strings.TrimSuffix(path.Base(file), ".sql")
		number, _, _ := strings.Cut(name, "_")
		if version, err := strconv.Atoi(number); err != nil || version != i+1 {
			return nil, fmt.Errorf("migration: %s is out of order: expected number %d", file, i+1)
		}
		// Git may have changed the line ends.
		script := strings.ReplaceAll(string(b), "\r\n", "\n")
		sum := sha256.Sum256([]byte(script))
		list = append(list, Migration{i + 1, name, script, hex.EncodeToString(sum[:])})
	}
	return list, nil
}

// MustRead is like [Read], but panics on an error. Use it for embedded files.
func MustRead(files fs.FS, folder string) []Migration {
	list, err := Read(files, folder)
	if err != nil {
		panic(err)
	}
	return list
}

// A Note is the record of a migration that was applied to a database.
type Note struct {
	Version  int
	Checksum string
}

// Applied returns the number of migrations that were applied. The notes must be sorted by
// version. It returns [ErrSchema] unless the notes match the first migrations of the list.
func Applied(list []Migration, notes []Note) (int, error) {
	for i, n := range notes {
		switch {
		case n.Version > len(list):
			return 0, fmt.Errorf("version %d was applied, and %d is the newest that this program knows: update the program: %w", n.Version, len(list), ErrSchema)
		case n.Version != i+1:
			return 0, fmt.Errorf("version %d was applied without version %d: %w", n.Version, i+1, ErrSchema)
		case n.Checksum != list[i].Checksum:
			return 0, fmt.Errorf("version %d was applied with another text than %s: %w", n.Version, list[i].Name, ErrSchema)
		}
	}
	return len(notes), nil
}
