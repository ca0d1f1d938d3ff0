//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package main

import "os"

// terminalWidth returns 0: the width is not known.
func terminalWidth(*os.File) int { return 0 }
