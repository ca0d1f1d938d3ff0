// Package guide holds the tests of docs/graphs.md: they run its programs and provoke
// the errors that it shows. It has no code of its own.
package guide
