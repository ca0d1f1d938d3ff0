// Package pgtest provides tests with a PostgreSQL server: the server of DATABASE_URL, or
// the server that scripts/postgres finds or starts. Each test creates a [Schema]. A test
// of roles or extensions uses a [Database]. All tests may run concurrently.
//
// With WEFT_POSTGRES_POOLED=1, every [URL] is the URL of a PgBouncer in transaction mode.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// URL returns the URL of a database that all tests share. Each test must create a
// [Schema].
func URL(tb testing.TB) string {
	tb.Helper()
	if Pooled() {
		return PooledURL(tb)
	}
	return DirectURL(tb)
}

// DirectURL returns a [URL] that never leads through a PgBouncer.
func DirectURL(tb testing.TB) string {
	tb.Helper()
	return must(tb, direct)
}

// PooledURL returns a [URL] that leads through a PgBouncer in transaction mode.
func PooledURL(tb testing.TB) string {
	tb.Helper()
	return must(tb, pooled)
}

// Pooler starts a PgBouncer in transaction mode before a database, and returns its URL. Only this test uses the PgBouncer, so
// the test may stop the database. The end of the test stops the PgBouncer.
func Pooler(tb testing.TB, database string) string {
	tb.Helper()
	env := []string{"DATABASE_URL=" + database, fmt.Sprintf("WEFT_POSTGRES_CLUSTER=pooler-%d-%d", os.Getpid(), poolers.Add(1))}
	tb.Cleanup(func() {
		if _, err := script("stop", env...); err != nil {
			tb.Errorf("pgtest: stop the PgBouncer: %v", err)
		}
	})
	return must(tb, func() (string, error) { return script("pgbouncer", env...) })
}

// poolers is the number of poolers that this process has started.
var poolers atomic.Int64

// Pooled reports whether WEFT_POSTGRES_POOLED is 1.
func Pooled() bool { return os.Getenv("WEFT_POSTGRES_POOLED") == "1" }

var (
	direct = sync.OnceValues(func() (string, error) { return script("start") })
	pooled = sync.OnceValues(func() (string, error) { return script("pgbouncer") })
)

func must(tb testing.TB, find func() (string, error)) string {
	tb.Helper()
	url, err := find()
	if err != nil {
		tb.Fatalf("pgtest: no PostgreSQL for the tests: %v", err)
	}
	return url
}

// startTimeout is the timeout of scripts/postgres, which may have to download a server.
const startTimeout = 10 * time.Minute

// script runs scripts/postgres with a command and returns its output, which is a URL. It adds env to the environment. For the
// command start, it returns DATABASE_URL instead if that is set. Several processes may run the script concurrently, since it
// starts only one server.
func script(command string, env ...string) (string, error) {
	if url := os.Getenv("DATABASE_URL"); url != "" && command == "start" {
		return url, nil
	}
	path, err := findScript()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", path, command)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // the server inherits the pipes and does not close them
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("%w: %s", err, lastLine(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// findScript searches the current folder and the folders above it for scripts/postgres.
func findScript() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(folder, "scripts", "postgres")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("DATABASE_URL is not set, and no folder above this one has scripts/postgres")
		}
		folder = above
	}
}
