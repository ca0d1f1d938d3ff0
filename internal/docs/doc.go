// Package docs tests the documents of the repository: their links, their code, the navigation of
// the documentation site, and the page about errors.
package docs
