// Package jsonform stores Go values as JSON. A [Codec] returns an error for a type
// or a value that JSON would not give back as it was, and [Cloner] copies values
// deeply. Package state and the engine use it for everything that a checkpoint
// holds.
package jsonform
