// Package sqlitedb is how this module's stores use a SQLite file: one session
// that writes and several that read, in WAL mode, statements prepared once,
// migrations applied once however many processes open the file, and waiting for
// other processes that looks at the caller's context.
package sqlitedb
