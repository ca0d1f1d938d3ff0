// Package jsonform converts Go values to the JSON that checkpoints store.
// A [Codec] encodes and decodes the values of one type.
// It returns an error for values that would change when they are stored and read.
// [Cloner] returns a function that makes deep copies of values.
package jsonform
