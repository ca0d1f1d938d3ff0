// Package research is a graph that works through a document: it loads it, asks a
// model about it topic by topic, and says what solution the document seeks. Then it
// answers questions.
package research
