//go:build unix

package pgtest

import (
	"os"
	"os/exec"
	"testing"
)

// Volume mounts a file system in memory for a test and returns its folder. The options are options of tmpfs, such
// as "size=8m". With "mode=0777", servers that run as another user can use the folder.
//
// Only root may mount. For other users, Volume skips the test, or fails it if the variable CI is set.
func Volume(tb testing.TB, options string) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "weft-volume-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			tb.Error(err)
		}
	})
	if out, err := exec.CommandContext(tb.Context(), "mount", "-t", "tmpfs", "-o", options, "weft", dir).CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatalf("cannot mount a small volume: %v: %s", err, out)
		}
		tb.Skipf("only root may mount the small volume that the test fills: %v: %s", err, out)
	}
	tb.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			tb.Errorf("%v: %s", err, out)
		}
	})
	return dir
}
