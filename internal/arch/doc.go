// Package arch tests the structure of the repository: the imports of each package, the order
// of the files in the engine, the size of a program that imports graph, and the use of
// time.Sleep in tests. It contains only tests.
package arch
