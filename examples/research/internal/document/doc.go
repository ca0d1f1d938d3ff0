// Package document reads and stores the documents of users, and finds the passages for a question.
package document
