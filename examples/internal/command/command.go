// Package command has the type of errors about wrong input. The examples at a terminal share it.
package command

import "fmt"

// A Mistake is an error in the input of the user. Its text is for the user, and names no part of the
// program.
type Mistake struct{ text string }

func (m *Mistake) Error() string { return m.text }

// Wrong returns a [Mistake].
func Wrong(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }
