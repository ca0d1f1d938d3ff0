// Package sqlitedb opens SQLite files for the stores of this module.
//
// A [DB] has one connection that writes and several that read, in WAL mode. It caches
// prepared statements. It applies each migration once, even if several processes open the
// file at the same time. It stops waiting for a lock when the caller's context ends. It
// reports a file that was replaced while it was open.
package sqlitedb
