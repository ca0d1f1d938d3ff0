package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is a server that runs in a process of its own.
type process struct {
	name string
	url  string
	cmd  *exec.Cmd
}

// startChild starts this program as a server.
func startChild(ctx context.Context, name string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", name)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOGC=25") // as in examples/serving
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.url = strings.TrimSpace(line)
	return p, nil
}

//go:embed reference
var referenceFiles embed.FS

// referenceVersion is the PyPI package of the reference server. Its runtime keeps everything in memory.
const referenceVersion = "langgraph-cli[inmem]==0.4.40"

// startReference installs the reference server and starts it, with 50 runs at once.
func startReference(ctx context.Context) (*process, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "weft-bench-server")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(dir, ".langgraph_api")); err != nil { // the state of an earlier process
		return nil, err
	}
	for _, name := range []string{"graphs.py", "langgraph.json"} {
		data, err := referenceFiles.ReadFile("reference/" + name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	command := filepath.Join(dir, "venv", "bin", "langgraph")
	if _, err := os.Stat(command); err != nil {
		fmt.Fprintln(os.Stderr, "server: install "+referenceVersion)
		for _, c := range [][]string{{"python3", "-m", "venv", "venv"}, {"venv/bin/pip", "install", "--quiet", referenceVersion}} {
			install := exec.CommandContext(ctx, c[0], c[1:]...)
			install.Dir = dir
			if out, err := install.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%v: %w (Python 3.11 with venv is needed)\n%s", c, err, out)
			}
		}
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command, "dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", "50", "--port", port)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LANGSMITH_TRACING=false", "LOG_LEVEL=ERROR")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &process{name: "reference", url: "http://127.0.0.1:" + port, cmd: cmd}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := p.answers(ctx, 2*time.Minute); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// answers waits until the server answers.
func (p *process) answers(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if resp, err := http.Get(p.url + "/ok"); err == nil { //nolint:noctx // on this machine
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.Body.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the server at %s does not answer: %w", p.url, context.Cause(ctx))
		}
	}
}

func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// stop ends the process.
func (p *process) stop() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = p.cmd.Wait() // killed
	return nil
}

// memory returns the resident memory of the process, in bytes.
func (p *process) memory() (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(text)[0], 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("/proc has no VmRSS")
}

// processorTime returns the user and system time of the process.
func (p *process) processorTime() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, err // Linux counts hundredths
}
