// Package sqlitedb opens SQLite files for the stores of this module. A [DB] has one
// connection for writes and several connections for reads, in WAL mode. It caches prepared
// statements. It applies each migration once, even if several processes open the file. It
// stops waiting for a lock when the context of the caller ends. It reports a file that was
// replaced while it was open.
package sqlitedb
