// Package research is a graph that loads a document, asks a model about it topic by topic, and summarizes the
// solution that the document seeks. It also answers questions about the document.
package research
