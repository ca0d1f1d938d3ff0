// Package compat tests that the current version of the engine can read and resume threads
// that an earlier version has stored. It contains only tests.
//
// A fixture in testdata is a database that version 0.1 wrote. A file of expectations
// belongs to each fixture. It contains the snapshot and the history of each thread, and the
// state after version 0.1 has resumed the thread. See testdata/generator/README.md. Do not
// regenerate a fixture. When the storage format changes, add fixtures of the new format.
package compat
