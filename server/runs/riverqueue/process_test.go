//go:build unix

package riverqueue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A replica is a process that serves stepsGraph. The test starts it again when it ends.
type replica struct {
	dir string

	mu  sync.Mutex
	cmd *exec.Cmd // nil while there is no process
}

// startProcesses starts replicas. They end with ctx. Wait for done afterwards.
func startProcesses(ctx context.Context, t *testing.T, done *sync.WaitGroup, configs ...replicaConfig) []*replica {
	t.Helper()
	replicas := make([]*replica, len(configs))
	var serving sync.WaitGroup
	for i := range configs {
		r := &replica{dir: t.TempDir()}
		replicas[i] = r
		data, err := json.Marshal(configs[i])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, configFile), data, 0o600))
		serving.Add(1)
		served := sync.OnceFunc(serving.Done)
		done.Go(func() {
			defer served()
			for ctx.Err() == nil && assert.NoError(t, r.once(ctx, served)) {
			}
		})
	}
	serving.Wait()
	return replicas
}

// once runs a process until it ends.
func (r *replica) once(ctx context.Context, served func()) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(r.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), asReplica+"="+r.dir, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.mu.Lock()
	r.cmd = cmd
	r.mu.Unlock()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		served()
	}
	_ = cmd.Wait() // signals of the test end the process
	r.mu.Lock()
	r.cmd = nil
	r.mu.Unlock()
	if code := cmd.ProcessState.ExitCode(); code > 0 { // a process may fail to start while the database restarts
		<-time.After(100 * time.Millisecond)
	}
	return nil
}

// signal sends a signal to the process. It returns the id of the process, or 0 if there is none.
func (r *replica) signal(s syscall.Signal) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil || r.cmd.Process.Signal(s) != nil {
		return 0
	}
	return r.cmd.Process.Pid
}

// client returns the id of River's client in the process, or in the previous one. It is "" before the first process.
func (r *replica) client() (id string) {
	for _, client := range r.clients() {
		id = client
	}
	return id
}

// started matches the line of a log with the ids of a process and of its River client.
var started = regexp.MustCompile(`msg="River client started" process=(\d+) client_id=(\S+)`)

// clients yields the ids of all processes, in order, with the ids of their River clients.
func (r *replica) clients() iter.Seq2[string, string] {
	return func(yield func(process, client string) bool) {
		data, err := os.ReadFile(filepath.Join(r.dir, "log"))
		if err != nil {
			return
		}
		for _, found := range started.FindAllStringSubmatch(string(data), -1) {
			if !yield(found[1], found[2]) {
				return
			}
		}
	}
}

// address returns the address of the process, or of the previous one.
func (r *replica) address() string {
	data, err := os.ReadFile(filepath.Join(r.dir, addressFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
