// Package sqlitedb opens SQLite files for the stores of this module. A [DB] has
// one connection that writes and several that read, in WAL mode. It caches
// prepared statements, applies migrations once however many processes open the
// file, waits for locks no longer than the caller's context allows, and reports
// a file that was replaced while it was open.
package sqlitedb
