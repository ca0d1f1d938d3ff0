// Package browser tests the pages of the examples in Chromium:
//
//	cd internal/browser && go test ./...
//
// The tests compile and start the examples, and use their pages like a person. If
// WEFT_SCREENSHOTS is set, they write screenshots to this folder.
package browser
