// Package recall measures how well package rank finds what it should, on data that anybody can download:
// dictionaries, manuals and sayings of Debian. `make recall` prints the table of docs/memory.md.
//
// It has no database and no model of language. Every search looks at all documents, and the vectors are
// made of the texts themselves ([Learn]), so they know much less than those of a model.
//
// [Load] reads the data, and downloads what is not there. Its sets are for any search: [Set] has documents,
// questions and the documents that answer them.
package recall
