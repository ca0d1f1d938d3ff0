//go:build !windows

package terminal

import "os"

// styled reports whether a terminal interprets escape codes.
func styled(*os.File) bool { return true }
