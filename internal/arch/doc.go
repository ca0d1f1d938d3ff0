// Package arch contains tests of the structure of the repository: the packages that each
// package may import, the order of the files of the engine, the size of a program that
// imports graph, and the use of time.Sleep in tests. It has no other code.
package arch
