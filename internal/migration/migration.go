// Package migration reads the numbered scripts that bring a store's database from one
// version to the next, and tells how far a database has come. It knows no database.
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

// ErrSchema says that a database is not as the migrations left it.
var ErrSchema = errors.New("unknown schema")

// A Migration brings a schema to its version.
type Migration struct {
	// Version counts from 1.
	Version int
	// Name is that of the file, and begins with the version: "001_facts".
	Name string
	// Script is SQL.
	Script string
	// Checksum tells the script from others.
	Checksum string
}

// Read reads the files of a folder that are named 001_what.sql and so on, without a gap.
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
			return nil, fmt.Errorf("migration: %s is out of order: number %d is due", file, i+1)
		}
		// A checkout may have changed the ends of lines.
		script := strings.ReplaceAll(string(b), "\r\n", "\n")
		sum := sha256.Sum256([]byte(script))
		list = append(list, Migration{i + 1, name, script, hex.EncodeToString(sum[:])})
	}
	return list, nil
}

// MustRead is [Read] for files that are part of the program.
func MustRead(files fs.FS, folder string) []Migration {
	list, err := Read(files, folder)
	if err != nil {
		panic(err)
	}
	return list
}

// A Note is what a database has noted of a migration that was applied.
type Note struct {
	Version  int
	Checksum string
}

// Applied returns how many migrations of the list were applied, as the notes say, which
// come by version. It returns [ErrSchema] unless they are the first ones of the list.
func Applied(list []Migration, notes []Note) (int, error) {
	for i, n := range notes {
		switch {
		case n.Version > len(list):
			return 0, fmt.Errorf("version %d, where %d is the newest that is known: %w", n.Version, len(list), ErrSchema)
		case n.Version != i+1:
			return 0, fmt.Errorf("version %d without version %d: %w", n.Version, i+1, ErrSchema)
		case n.Checksum != list[i].Checksum:
			return 0, fmt.Errorf("version %d, applied with another text than that of %s: %w", n.Version, list[i].Name, ErrSchema)
		}
	}
	return len(notes), nil
}
