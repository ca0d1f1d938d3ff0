package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
)

var addressOf = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// startExample builds an example and starts it at a free port, without a database and without users. The client
// programs in the documents send their requests to it.
func startExample(ctx context.Context, name string) (*started, error) {
	dir, err := os.MkdirTemp("", "weft-clients-")
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, name)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./examples/"+name).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build examples/%s, from the folder of go.mod: %w\n%s", name, err, out)
	}
	cmd := exec.CommandContext(ctx, binary, "-addr", "127.0.0.1:0", "-origins", "*") // another server serves the page
	cmd.Env = append(os.Environ(), "DATABASE_URL=", "DB=", "TOKENS=")
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		write.CloseWithError(errors.Join(fmt.Errorf("examples/%s ended", name), cmd.Wait()))
		close(ended)
	}()
	out := bufio.NewReader(read)
	var said, address string
	for address == "" {
		line, err := out.ReadString('\n')
		if said += line; err != nil {
			return nil, fmt.Errorf("%w\n%s", err, said)
		}
		address = addressOf.FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return &started{url: "http://" + address, close: func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		<-ended
		return os.RemoveAll(dir)
	}}, nil
}
