package sqlitecheckpoint

import (
	"context"
	"embed"
	"fmt"

	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/sqlitedb"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are the migrations of this version, oldest first.
var migrations = migration.MustRead(migrationFiles, "migration")

// firstStep lists the statements that the first checkpoint of a thread needs.
// Preparing them in Open makes the first step faster.
var firstStep = []string{
	findThreadQuery, insertThread, updateThread, newestOfThreadQuery, newestOfRootQuery, findIDQuery,
	findOriginQuery, insertOrigin, entryQuery, dividedQuery, highestQuery, insertEntry, insertStep,
	appendSteps[[2]bool{false, false}], appendSteps[[2]bool{false, true}],
}

// Open opens the database at path and creates it if it does not exist. Its folder
// must exist. Other stores and processes may have the file open. With the path
// [Memory], every store has its own database. The caller must close the store.
//
// Only the owner can read and write a file that Open creates. Open does not change
// the mode of an existing file.
//
// Open returns [checkpoint.ErrFormat] for a file that is not a SQLite database,
// and for a file of a newer version of this package.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("sqlitecheckpoint: open %q: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	db, err := sqlitedb.Open(ctx, path, sqlitedb.Options{
		MaxSize: o.MaxSize, BusyTimeout: o.BusyTimeout, Normal: o.Synchronous == Normal, SecureDelete: true,
		Migrations: migrations, Table: "cp_migration", Warm: firstStep,
	})
	if err != nil {
		return nil, classify(err)
	}
	s := &Store{path: path, maxValue: o.MaxValue, db: db, latest: map[string]*latest{}}
	lock := db.File()
	if lock != "" {
		lock += "-lock"
	}
	s.locks = newLocks(lock)
	return s, nil
}
