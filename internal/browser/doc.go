// Package browser tests the pages of the examples in Chromium:
//
//	cd internal/browser && go test ./...
//
// The tests build and start the examples, and use their pages as a person does. They write
// screenshots to the folder WEFT_SCREENSHOTS if it is set.
package browser
