// Package howto_test has the code of the pages in docs/howto, docs/tutorials and docs/coming-from as
// tested Examples.
package howto_test

// must ends the program with an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
