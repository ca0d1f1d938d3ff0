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

// migrations are those of this version, oldest first.
var migrations = migration.MustRead(migrationFiles, "migration")

// firstStep is what the first step of a thread needs, which is most of what it costs.
var firstStep = []string{
	findThreadQuery, insertThread, newestOfThreadQuery, newestOfRootQuery, findIDQuery,
	findOriginQuery, insertOrigin, markQuery, dividedQuery, highestQuery, insertMark, insertStep,
	followSteps[[2]bool{false, false}], followSteps[[2]bool{false, true}],
}

// Open opens the database at path, and makes it if there is none. The folder
// has to be there. It may be a file that other stores and processes have open,
// and [Memory] is a database of its own. The caller closes the store.
//
// A file that is no SQLite database, and one that a newer version of this
// package has written, are refused with [checkpoint.ErrFormat].
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
		MaxSize: o.MaxSize, BusyTimeout: o.BusyTimeout, Normal: o.Synchronous == Normal,
		Migrations: migrations, Table: "cp_migration", Warm: firstStep,
	})
	if err != nil {
		return nil, classify(err)
	}
	s := &Store{path: path, maxValue: o.MaxValue, db: db, tips: map[string]*tip{}}
	lock := db.File()
	if lock != "" {
		lock += "-lock"
	}
	s.locks = newLocks(lock)
	return s, nil
}
