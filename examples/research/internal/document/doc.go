// Package document reads documents of users, keeps them, and finds the passages of
// them that a question is about.
package document
