// Package crashtest runs a test binary as a child process and kills it.
package crashtest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Run runs this test binary in dir with additional environment variables. The child has to print a
// line when it begins to work. Run kills the child when the time after has passed since this line,
// unless the child has ended. Otherwise Run returns the last line of its output. The test fails if
// the child fails.
func Run(t *testing.T, dir string, after time.Duration, env ...string) (last string, killed bool) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	// Without this option the race detector delays every exit by a second.
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), env...), "GORACE=atexit_sleep_ms=0")
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var timer *time.Timer
	for lines := bufio.NewScanner(out); lines.Scan(); last = lines.Text() {
		if timer == nil {
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it fails if the process has ended
		}
	}
	if timer != nil {
		timer.Stop()
	}
	if err := cmd.Wait(); err != nil {
		require.Equal(t, -1, cmd.ProcessState.ExitCode(), "%v: %s", err, failure.String())
		return "", true
	}
	return last, false
}
