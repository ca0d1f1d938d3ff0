// Package compat holds the tests which prove that threads stored by an earlier version of the
// engine can be read and resumed by the current one. It has no code of its own.
//
// A fixture in testdata is a database that version 0.1 wrote, with a file of expectations
// beside it: the snapshot and the history of each thread, and its state after it was
// resumed by that version. See testdata/generator/README.md. A fixture is never written
// again: when the storage format changes, fixtures of the new format are added.
package compat
