// Package compat holds the tests which prove that threads stored by an earlier version of the
// engine can be read and resumed by the current one. It has no code of its own.
//
// A fixture in testdata is a database that version 0.1 wrote, with a file of expectations
// beside it: the snapshot and the history of each thread, and its state after that version
// resumed it. See testdata/generator/README.md. Do not regenerate a fixture. When the
// storage format changes, add fixtures of the new format.
package compat
