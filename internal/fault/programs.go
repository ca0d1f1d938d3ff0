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

// Programs returns the folder of the PostgreSQL programs on this machine. The argument script
// is the path of scripts/postgres, which finds or downloads the programs. A server on another
// machine or in a container is not enough, since tests cannot kill it.
func Programs(ctx context.Context, script string) (string, error) {
	home, err := home()
	if err != nil {
		return "", fmt.Errorf("fault: programs: %w", err)
	}
	if found := knownPrograms(home); found != "" {
		return found, nil
	}
	for _, way := range []string{"installed", "debian"} {
		if err = start(ctx, script, way); err == nil {
			break
		}
	}
	found := knownPrograms(home)
	if found == "" {
		return "", fmt.Errorf("fault: programs: no PostgreSQL server can be started on this machine; install PostgreSQL: %w", errors.Join(err, os.ErrNotExist))
	}
	return found, nil
}

// home returns the folder in which scripts/postgres keeps its servers.
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

// knownPrograms returns the folder of the programs from the records of earlier runs of the
// script. It returns "" if there is no record.
func knownPrograms(home string) string {
	notes, _ := filepath.Glob(filepath.Join(home, "*", "programs")) // the only possible error is a malformed pattern
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

// start runs the script to start and stop a server. The script then records the folder of
// the programs.
func start(ctx context.Context, script, way string) error {
	for _, command := range []string{"start", "stop"} {
		cmd := exec.CommandContext(ctx, "bash", script, command)
		cmd.Env = append(os.Environ(), "DATABASE_URL=", "WEFT_POSTGRES_CLUSTER=fault", "WEFT_POSTGRES_WAY="+way)
		cmd.WaitDelay = time.Second // the server that the script starts may keep the pipes open
		if out, err := cmd.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
			return fmt.Errorf("%s: %w: %s", way, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
