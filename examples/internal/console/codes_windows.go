package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// readsCodes makes a Windows console interpret escape codes, and reports whether it succeeded.
func readsCodes(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
