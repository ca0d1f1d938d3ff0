// Recall measures which facts package memory finds, through its public API, on texts
// that everybody can download: dictionaries, sayings and manuals of Debian.
//
//	DATABASE_URL=… go run ./recall [-sets regexp] [-questions 1000] [-sample 200] [-cache folder]
//
// The program stores the texts in the in-memory store and copies them, with their IDs
// and vectors, to SQLite and PostgreSQL. It prints Markdown tables with the recall of Weft and of
// simpler methods, with the recall and the time for smaller memory.Options.Candidates, and with the
// number of searches in which the three stores return different facts or another order.
//
// The vectors do not come from a language model. The embedder "learned" counts which words
// stand together in these texts, and "trigrams" compares the spelling of words.
//
// The exit status is 1 if a store returns other facts than the in-memory store or if a
// figure is below its bound, and 2 if a run fails. With 300 questions, a difference
// of two points is within the error of the sample. The program downloads 38 MB once, needs
// the program xz, and takes 5 GB of memory.
package main
