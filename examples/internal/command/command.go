// Package command has the error for wrong input that the examples at a terminal share.
package command

import "fmt"

// A Mistake is an error in the input of the user. The text says what is wrong, without a place in
// the program.
type Mistake struct{ text string }

func (m *Mistake) Error() string { return m.text }

// Wrong returns a [Mistake].
func Wrong(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }
