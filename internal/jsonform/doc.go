// Package jsonform stores Go values as JSON. A [Codec] returns an error for a type or a
// value that JSON cannot restore unchanged. [Cloner] copies values deeply. Package
// state and the engine use jsonform for all values in a checkpoint.
package jsonform
