// Package arch holds the tests that keep the repository's shape: which package
// may import which, what the core compiles, how large a program it makes, and
// where a test may sleep. It has no code of its own.
package arch
