//go:build !windows

package console

import "os"

// readsCodes reports whether a terminal interprets escape codes.
func readsCodes(*os.File) bool { return true }
