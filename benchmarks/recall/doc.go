// Recall measures which facts package memory finds, through its public API, on texts
// that everybody can download: dictionaries, sayings and manuals of Debian.
//
//	DATABASE_URL=… go run ./recall [-sets regexp] [-questions 1000] [-sample 200] [-cache folder]
//
// The program stores the texts in the in-memory store and copies them, with their IDs
// and vectors, to SQLite and PostgreSQL. It prints Markdown tables: what Weft and simpler
// methods find, what a smaller memory.Options.Candidates finds and costs, and whether the three
// stores return the same facts in the same order.
//
// The vectors do not come from a language model. The embedder "learned" counts which words
// stand together in these texts, and "trigrams" compares the spelling of words.
//
// The exit status is 1 if a store returns other facts than the in-memory store or a
// result is worse than it has to be, and 2 if a run fails. With 300 questions, a difference
// of two points is within the error of the sample. The program downloads 38 MB once, needs
// the program xz, and takes 5 GB of memory.
package main
