// Load measures the example with many concurrent clients. It builds the program, ingests documents, starts
// the program, sends messages, and stops the program.
//
//	go run ./examples/chatapi/internal/load -clients 200 -for 60s
//
// The program uses SQLite in a temporary folder, or the database of the environment: DATABASE_URL=… for
// PostgreSQL. Load knows the resident memory of the program only on Linux.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	clients := flag.Int("clients", 200, "how many clients ask at once")
	length := flag.Duration("for", 60*time.Second, "how long they do")
	turns := flag.Int("turns", 10, "how many messages a session has")
	docs := flag.String("docs", "docs", "the `folder` of the documents")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *clients, *turns, *length, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, clients, turns int, length time.Duration, docs string) (err error) {
	folder, err := os.MkdirTemp("", "chatapi-load")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binary := filepath.Join(folder, "chatapi")
	for _, args := range [][]string{{"go", "build", "-o", binary, "./examples/chatapi"}, {binary, "-data", folder, "ingest", docs}} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // what is started is said above
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	p, err := launch(ctx, binary, "-data", folder, "-addr", "127.0.0.1:0", "-pace", "0")
	if err != nil {
		return err
	}
	t := newTally()
	if err := t.run(ctx, p, clients, turns, length); err != nil {
		return errors.Join(err, p.end())
	}
	t.report(clients)
	return errors.Join(p.end(), t.failed())
}

// program is a running process of the example.
type program struct {
	cmd *exec.Cmd
	url string
}

func launch(ctx context.Context, binary string, args ...string) (*program, error) {
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // it was built above
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Println(lines.Text())
		if strings.HasPrefix(lines.Text(), "http://") {
			return &program{cmd, lines.Text()}, nil
		}
	}
	return nil, errors.Join(errors.New("the program did not start"), cmd.Wait())
}

func (p *program) end() error {
	return errors.Join(p.cmd.Process.Signal(syscall.SIGTERM), p.cmd.Wait())
}

// memory returns the resident memory of the program in MiB, or 0 if it is unknown.
func (p *program) memory() int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, _ := strconv.Atoi(strings.Fields(rest)[0]) // the kernel writes a number
			return kilobytes / 1024
		}
	}
	return 0
}

// tally collects the results of all requests.
type tally struct {
	mu    sync.Mutex
	took  []time.Duration
	wrong map[string]int
	sizes []string
	lasts time.Duration
}

func newTally() *tally { return &tally{wrong: map[string]int{}} }

func (t *tally) run(ctx context.Context, p *program, clients, turns int, length time.Duration) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	ending, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	began := time.Now()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { t.talk(ending, client, p.url, fmt.Sprintf("user-%d", i), turns) })
	}
	tick := time.NewTicker(length / 6)
	defer tick.Stop()
	t.size(p, 0)
	for range 6 {
		select {
		case <-tick.C:
			t.size(p, time.Since(began))
		case <-ctx.Done():
		}
	}
	all.Wait()
	t.lasts = time.Since(began)
	return ctx.Err()
}

func (t *tally) size(p *program, at time.Duration) {
	t.sizes = append(t.sizes, fmt.Sprintf("%v: %d MiB", at.Round(time.Second), p.memory()))
}

// messages are the messages that each client sends, one after the other.
var messages = []string{
	"Remember that my locker is number %d.", "What is my locker number?", "What is a superstep?",
	"I prefer tea, number %d.", "How long does a lease hold?",
}

func (t *tally) talk(ctx context.Context, client *http.Client, url, user string, turns int) {
	session := ""
	for n := 0; ctx.Err() == nil; n++ {
		if n%turns == 0 {
			session = ""
		}
		text := messages[n%len(messages)]
		if strings.Contains(text, "%d") {
			text = fmt.Sprintf(text, n)
		}
		began := time.Now()
		id, err := ask(client, url, map[string]string{"message": text, "user_id": user, "session_id": session})
		t.note(time.Since(began), err)
		session = id
	}
}

// ask sends a message and returns the session of the reply. It has no context: a request that is under way
// at the end of the measurement completes.
func ask(client *http.Client, url string, body map[string]string) (session string, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	res, err := client.Post(url+"/api/chat", "application/json", bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return "", err
	}
	var answer struct {
		Reply     string `json:"reply"`
		SessionID string `json:"session_id"`
	}
	if res.StatusCode != http.StatusOK || json.Unmarshal(text, &answer) != nil || answer.Reply == "" {
		return "", fmt.Errorf("%s: %.200s", res.Status, text)
	}
	return answer.SessionID, nil
}

func (t *tally) note(took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.wrong[err.Error()]++
		return
	}
	t.took = append(t.took, took)
}

func (t *tally) report(clients int) {
	slices.Sort(t.took)
	at := func(part float64) time.Duration {
		if len(t.took) == 0 {
			return 0
		}
		return t.took[int(part*float64(len(t.took)-1))].Round(time.Millisecond / 10)
	}
	length := t.lasts.Round(time.Second / 10) // includes the requests that were under way at the end
	fmt.Printf("%d clients, %v: %d replies, %.1f a second; p50 %v, p99 %v, longest %v\n",
		clients, length, len(t.took), float64(len(t.took))/length.Seconds(), at(0.5), at(0.99), at(1))
	fmt.Println("memory:", strings.Join(t.sizes, ", "))
}

func (t *tally) failed() error {
	var all []error
	for text, n := range t.wrong {
		all = append(all, fmt.Errorf("%d times: %s", n, text))
	}
	return errors.Join(all...)
}
