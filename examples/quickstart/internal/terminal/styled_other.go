//go:build !windows

package terminal

import "os"

// styled reports whether a terminal reads escape codes.
func styled(*os.File) bool { return true }
