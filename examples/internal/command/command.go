// Package command is what the examples that run at a terminal have in common.
package command

import "fmt"

// A Mistake is an error of the user's, who is told what is wrong, and not where in the program.
type Mistake struct{ text string }

func (m *Mistake) Error() string { return m.text }

// Wrong returns a [Mistake].
func Wrong(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }
