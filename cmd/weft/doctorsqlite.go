package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

const (
	lowSpace = 256 << 20 // free bytes on the disk
	largeLog = 256 << 20 // bytes of the write-ahead log
)

// sqlite checks a SQLite file. It opens the store and reads the contents only if the file is undamaged, migrated and in WAL
// mode, because a store that opens a file migrates it and sets the mode.
func (d *doctor) sqlite(ctx context.Context) {
	if err := d.checkPath(); err != nil {
		d.fault("store", "check -db", "%s", strings.TrimPrefix(err.Error(), errUsage.Error()+": "))
		return
	}
	info, err := os.Stat(d.db)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.fault("store", "check -db; weft threads migrate -create makes a new file", "the file %s does not exist", d.db)
		return
	case err != nil:
		d.fault("store", "give the user of this command the right to read the file", "%v", err)
		return
	case info.IsDir():
		d.fault("store", "name the file in it", "%s is a folder", d.db)
		return
	}
	d.modes()
	d.space()
	if !d.fileWritable() {
		return
	}
	db, err := readOnly(d.db)
	if err != nil {
		d.fault("store", "check -db", "%v", err)
		return
	}
	sound := d.file(ctx, db)
	if err := db.Close(); err != nil {
		d.fault("store", "", "%v", err)
	}
	if !sound || !d.fileSchema(ctx) {
		return
	}
	s, err := d.open(ctx)
	if err != nil {
		d.fault("store", "", "%v", err)
		return
	}
	d.contents(ctx, s)
	if err := s.close(); err != nil {
		d.fault("store", "", "%v", err)
	}
}

// modes checks that only the owner can read, write or execute the files.
func (d *doctor) modes() {
	if runtime.GOOS == "windows" {
		return
	}
	var open, files []string
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(d.db + suffix); err == nil && info.Mode().Perm()&0o077 != 0 {
			open = append(open, fmt.Sprintf("%s (%04o)", d.db+suffix, info.Mode().Perm()))
			files = append(files, "'"+strings.ReplaceAll(d.db+suffix, "'", `'\''`)+"'")
		}
	}
	if len(open) > 0 {
		d.fault("mode", "chmod 600 "+strings.Join(files, " "), "others can use %s", strings.Join(open, ", "))
		return
	}
	d.ok("mode", "only the owner can use the file")
}

// fileWritable checks that the file can be written. It changes nothing.
func (d *doctor) fileWritable() bool {
	f, err := os.OpenFile(d.db, os.O_RDWR, 0)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		d.fault("writes", "give the user of the programs the right to write the file and its folder; mount the file system writable if it is read-only, and look for errors of the disk first",
			"the file cannot be written, and not opened by programs: %v", err)
		return false
	}
	return true
}

func (d *doctor) space() {
	free, err := d.free(filepath.Dir(d.db))
	switch {
	case err != nil:
		d.fault("space", "", "the free space is unknown: %v", err)
	case free < lowSpace:
		d.fault("space", "free space on the disk; weft threads prune makes room inside the file",
			"%d MB are free on the disk; below %d MB the store refuses writes", free>>20, sqlitedb.MinFree>>20)
	default:
		d.ok("space", "%d MB are free on the disk", free>>20)
	}
	if info, err := os.Stat(d.db + "-wal"); err == nil && info.Size() > largeLog {
		d.fault("log", "look for a program that reads for a long time; the log is emptied when all programs have closed the file",
			"the write-ahead log has %d MB", info.Size()>>20)
	}
}

// file checks that a file is an undamaged database in WAL mode, with the tables of threads.
func (d *doctor) file(ctx context.Context, db *sql.DB) bool {
	tables, err := column(ctx, db, "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		d.fault("store", "restore the file from a backup, or check -db", "%s cannot be read: %v", d.db, err)
		return false
	}
	has := false
	for _, name := range tables {
		has = has || strings.HasPrefix(name, "cp_")
	}
	if !has {
		d.fault("store", "check -db", "%s has no threads: it has no table of package sqlitecheckpoint", d.db)
		return false
	}
	d.ok("store", "SQLite file %s", d.db)
	mode, err := column(ctx, db, "PRAGMA journal_mode")
	sound := true
	if err == nil && len(mode) == 1 && mode[0] != "wal" {
		d.fault("journal", "the next program that opens the store sets it; do not change it by other tools",
			"the journal mode is %s and not wal: readers and writers wait for each other", mode[0])
		sound = false
	}
	report, err := column(ctx, db, "PRAGMA quick_check(3)")
	switch {
	case err != nil:
		d.fault("integrity", "stop the programs and restore the file from a backup", "the file is damaged: %v", err)
		return false
	case len(report) != 1 || report[0] != "ok":
		d.fault("integrity", "stop the programs and restore the file from a backup", "the file is damaged: %s", oneLine(strings.Join(report, "; "), 300))
		return false
	}
	d.ok("integrity", "SQLite finds no damage")
	return sound
}

// fileSchema compares the migrations of a file with those of this version.
func (d *doctor) fileSchema(ctx context.Context) bool {
	have, err := fileMigrations(ctx, d.db)
	if err == nil {
		var want []string
		if want, err = newest(ctx); err == nil {
			return d.schema(have, want)
		}
	}
	d.fault("schema", "", "the migrations cannot be read: %v", err)
	return false
}

// schemaFault adds the fault of a store that is older or newer than this version.
func (d *doctor) schemaFault(older bool, what string) {
	if older {
		d.fault("schema", "weft threads migrate, with the version that your programs use; programs also migrate a store that they open", "the store is older than this version: %s", what)
		return
	}
	d.fault("schema", "use the version of weft that your programs use", "the store is newer than this version: %s", what)
}

func (d *doctor) schema(have, want []string) bool {
	if newer := without(have, want); len(newer) > 0 {
		d.schemaFault(false, "it has "+strings.Join(newer, ", "))
		return false
	}
	pending := without(want, have)
	if !contains(have, "001_runs") {
		pending = without(pending, []string{"001_runs", "002_owner"})
	}
	if len(pending) > 0 {
		d.schemaFault(true, "pending: "+strings.Join(pending, ", "))
		return false
	}
	d.ok("schema", "%s, none pending", counted(len(have), "migration"))
	return true
}

func contains(list []string, s string) bool { return len(without([]string{s}, list)) == 0 }

// newest returns the names of the migrations of this version.
func newest(ctx context.Context) (names []string, err error) {
	by, err := newestByTable(ctx)
	for _, table := range sortedKeys(by) {
		names = append(names, by[table]...)
	}
	return names, err
}

// newestByTable returns the names of the migrations of this version, by the table that records them. It reads them from a
// new file.
func newestByTable(ctx context.Context) (names map[string][]string, err error) {
	folder, err := os.MkdirTemp("", "weft-doctor")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "new.db")
	s, err := sqlitecheckpoint.Open(ctx, file, sqlitecheckpoint.Options{})
	if err != nil {
		return nil, err
	}
	r, err := sqliteruns.Open(ctx, file, sqliteruns.Options{})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := errors.Join(r.Close(), s.Close()); err != nil {
		return nil, err
	}
	return tableMigrations(ctx, file)
}

// tryLeases returns a lessor that tries to take the lease of each thread, and releases it. A store in SQLite has no other
// way to find out whether a run holds a thread.
func tryLeases(s checkpoint.Store) lessor {
	return func(ctx context.Context, threads []string, _ bool) (map[string]bool, error) {
		held := map[string]bool{}
		leaser, ok := s.(checkpoint.Leaser)
		for _, id := range threads {
			if !ok {
				break
			}
			l, err := leaser.Lease(ctx, id)
			if errors.Is(err, checkpoint.ErrConflict) {
				held[id] = true
				continue
			}
			if err == nil {
				err = l.Release(ctx)
			}
			if err != nil {
				return nil, err
			}
		}
		return held, nil
	}
}
