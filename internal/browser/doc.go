// Package browser holds the tests of the examples' pages, in Chromium:
//
//	cd internal/browser && go test ./...
//
// They build the examples, start them, and use them as a person would. With
// WEFT_SCREENSHOTS set to a folder, they leave pictures there.
package browser
