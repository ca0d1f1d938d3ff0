// Package pgtest gives tests a real PostgreSQL: the server of DATABASE_URL, or
// the one that scripts/postgres finds or starts, so that a plain go test works on
// a fresh machine. A test takes a [Schema] of its own, or, where roles and
// extensions are its subject, a [Database]; all of them may run at once.
//
// With WEFT_POSTGRES_POOLED=1 every [URL] leads through a PgBouncer in
// transaction mode.
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
	"testing"
	"time"
)

// URL returns the URL of a database that any test may use, within a schema of
// its own.
func URL(tb testing.TB) string {
	tb.Helper()
	if Pooled() {
		return PooledURL(tb)
	}
	return DirectURL(tb)
}

// DirectURL is a [URL] without a PgBouncer, whatever the environment says.
func DirectURL(tb testing.TB) string {
	tb.Helper()
	return must(tb, direct)
}

// PooledURL is a [URL] through a PgBouncer in transaction mode.
func PooledURL(tb testing.TB) string {
	tb.Helper()
	return must(tb, pooled)
}

// Pooled reports whether the environment asks for the PgBouncer.
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

// patience is how long a server may take that has to be fetched first.
const patience = 10 * time.Minute

// script runs scripts/postgres, which sees to it that one of many callers starts
// the server.
func script(command string) (string, error) {
	if url := os.Getenv("DATABASE_URL"); url != "" && command == "start" {
		return url, nil
	}
	path, err := findScript()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", path, command)
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = time.Second // what it started may hold on to the pipes
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("%w: %s", err, lastLine(said.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// findScript looks in the folders above the test's.
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
			return "", errors.New("DATABASE_URL is not set, and scripts/postgres is not above this folder")
		}
		folder = above
	}
}
