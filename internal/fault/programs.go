//go:build unix

package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Programs returns the folder of the programs of a PostgreSQL on this machine: those
// that scripts/postgres, whose path is given, finds or fetches. A server elsewhere
// and one in a container are of no use here, since they can not be killed.
func Programs(ctx context.Context, script string) (string, error) {
	home, err := home()
	if err != nil {
		return "", fmt.Errorf("fault: programs: %w", err)
	}
	if found := noted(home); found != "" {
		return found, nil
	}
	for _, way := range []string{"installed", "debian"} {
		if err = start(ctx, script, way); err == nil {
			break
		}
	}
	found := noted(home)
	if found == "" {
		return "", fmt.Errorf("fault: programs: no PostgreSQL that could be killed: %w", errors.Join(err, os.ErrNotExist))
	}
	return found, nil
}

// home is the folder of scripts/postgres.
func home() (string, error) {
	if home := os.Getenv("WEFT_POSTGRES_HOME"); home != "" {
		return home, nil
	}
	if os.Getuid() == 0 {
		return "/var/tmp/weft-postgres", nil
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, ".cache")
	}
	return filepath.Join(cache, "weft-postgres"), nil
}

// noted returns the programs of a server that the script has started before.
func noted(home string) string {
	notes, _ := filepath.Glob(filepath.Join(home, "*", "programs")) // the pattern is right
	for _, note := range notes {
		b, err := os.ReadFile(note)
		folder := strings.TrimSpace(string(b))
		if err != nil || folder == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, "initdb")); err == nil {
			return folder
		}
	}
	return ""
}

// start lets the script start a server, and stop it: it notes where the programs are.
func start(ctx context.Context, script, way string) error {
	for _, command := range []string{"start", "stop"} {
		cmd := exec.CommandContext(ctx, "bash", script, command)
		cmd.Env = append(os.Environ(), "DATABASE_URL=", "WEFT_POSTGRES_CLUSTER=fault", "WEFT_POSTGRES_WAY="+way)
		cmd.WaitDelay = time.Second // what it started may hold on to the pipes
		if out, err := cmd.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
			return fmt.Errorf("%s: %w: %s", way, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
