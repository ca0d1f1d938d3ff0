package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/tools"
)

// asProgram is the environment variable that makes the test binary run the program.
const asProgram = "DESIGNER_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	for _, name := range []string{"SUPABASE_DB_URL", "SUPABASE_URL", "LLM_PROVIDER", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "EMBEDDING_MODEL"} {
		_ = os.Unsetenv(name) // DATABASE_URL stays for pgtest
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}

// A store has the environment and the flags that tell the program where to store its data.
type store struct{ env, flags []string }

// storesOf has functions that make a new store for a test.
var storesOf = map[string]func(t *testing.T) store{
	"SQLite": func(t *testing.T) store { return store{flags: []string{"-data", t.TempDir()}} },
	"PostgreSQL": func(t *testing.T) store {
		return store{[]string{"DATABASE_URL=" + pgtest.URL(t)}, []string{"-schema", pgtest.Schema(t), "-lease", "1s"}}
	},
}

func (s store) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), os.Args[0], append(s.flags[:len(s.flags):len(s.flags)], args...)...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "DATABASE_URL=") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(append(cmd.Env, asProgram+"=1"), s.env...)
	cmd.Dir = t.TempDir()
	return cmd
}

// says runs the program with stdin as its input, and returns its output and its exit status.
func (s store) says(t *testing.T, stdin string, args ...string) (string, int) {
	t.Helper()
	cmd := s.command(t, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// A process is the program as a server, in another process.
type process struct {
	*exec.Cmd
	url    string
	client *http.Client
	token  string
}

func (s store) serve(t *testing.T, args ...string) *process {
	t.Helper()
	srv := &process{Cmd: s.command(t, append(args, "-serve", "127.0.0.1:0")...), client: &http.Client{Transport: &http.Transport{}}}
	var errs bytes.Buffer
	srv.Stderr = &errs
	out, err := srv.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); srv.url == "" && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http://") {
			srv.url = lines.Text()
		}
	}
	t.Cleanup(func() { srv.kill() })
	if srv.url == "" {
		srv.kill()
		t.Fatalf("the program did not start: %s", errs.String())
	}
	return srv
}

// kill kills the process, as kill -9 does.
func (s *process) kill() {
	s.client.CloseIdleConnections()
	_ = s.Process.Kill() // it may have ended
	_ = s.Wait()         // the error says that the process was killed
}

func (s *process) ask(t *testing.T, method, path, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// get returns the status and the body of a response.
func (s *process) get(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	res := s.ask(t, method, path, body)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// result runs a turn of kai and returns its result.
func (s *process) result(t *testing.T, body string) (r kai.Result) {
	t.Helper()
	status, text := s.get(t, "POST", "/api/agents/kai", body)
	if err := json.Unmarshal([]byte(text), &r); err != nil || status != 200 {
		t.Fatalf("%d: %s", status, text)
	}
	return r
}

// A conversation at a terminal continues in a new process for each step.
func TestTerminal(t *testing.T) {
	t.Parallel()
	for name, newStore := range storesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			for _, step := range []struct {
				args []string
				want string
			}{
				{[]string{"find oak chairs under 700 and quote 6 of the first"}, "Make a quote?\n  6 × P042 HAL Wood at 540.00 € = 3240.00 €\n  Total: 3240.00 €\n  for "},
				{[]string{"yes"}, "Total: 3,240 €."},
				{[]string{"order it"}, "Submit the order?"},
				{[]string{"no", "too", "dear"}, "Nothing was ordered: a person rejected this call: too dear"},
				{[]string{"-orders"}, ""},
				{[]string{"order it"}, "Total: 3240.00 €"},
				{[]string{"yes"}, "Order O-"},
				{[]string{"-orders"}, ": 3240.00 €"},
				{[]string{"I prefer walnut. My client is ABC Corp."}, "I will remember that"},
				{[]string{"-memories"}, "preference: I prefer walnut"},
				{[]string{"-conversation", "two", "show armchairs under 9000"}, "prefer walnut"},
				{[]string{"-conversation", "two", "make a 3D scene of all of them"}, "Make a 3D scene?"},
				{[]string{"-conversation", "two", "yes"}, "· scene J-"},
				{[]string{"-agent", "scout", "-conversation", "three", "what do you know about me?"}, "- My client is ABC Corp"},
				{[]string{"-draw"}, "human_approval"},
			} {
				if out, status := s.says(t, "", step.args...); status != 0 || !strings.Contains(out, step.want) || strings.Contains(out, "WARN") {
					t.Fatalf("%q: %d, %s, want %q", step.args, status, out, step.want)
				}
			}
			out, status := s.says(t, "find marble floor tiles\n\nquote 3 of P125\nyes\n", "-conversation", "lines")
			if status != 0 || !strings.Contains(out, "Crema Marfil") || !strings.Contains(out, "Total: 225 €") {
				t.Errorf("lines: %d, %s", status, out)
			}
		})
	}
}

// For a mistake the program prints a message and returns a status.
func TestMistakes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		args   []string
		env    string
		status int
		want   string
	}{
		{[]string{"-catalogue", file("a.csv", "id,name\n1,x\n")}, "", 2, `no column "category"`},
		{[]string{"-catalogue", file("b.csv", "\x89PNG\x00")}, "", 2, "not a catalogue"},
		{[]string{"-catalogue", filepath.Join(folder, "none.csv")}, "", 2, "no such file"},
		{[]string{"-agents", file("a.json", `{"a":{}}`)}, "", 2, "needs a name and a prompt"},
		{[]string{"-agents", file("b.json", `{"a":{"name":"A","prompt":"p","tools":["fly"]}}`)}, "", 2, `there is no tool "fly"`},
		{[]string{"-agent", "nobody", "hi"}, "", 2, "there is no such agent"},
		{[]string{"-serve", "nowhere:x"}, "", 2, "nowhere"},
		{[]string{"-scene", "J-1"}, "", 2, `there is no scene "J-1"`},
		{[]string{"-wrong"}, "", 2, "-h shows how"},
		{[]string{"-h"}, "", 0, "-conversation"},
		{[]string{"hi"}, "LLM_PROVIDER=nobody", 2, "LLM_PROVIDER"},
		{[]string{"hi"}, "DATABASE_URL=postgres://ann:secret@127.0.0.1:1/x?connect_timeout=1", 1, "designer: "},
	} {
		s := store{flags: []string{"-data", filepath.Join(folder, "data")}}
		if c.env != "" {
			s.env = []string{c.env}
		}
		out, status := s.says(t, "", c.args...)
		if status != c.status || !strings.Contains(out, c.want) || strings.Contains(out, "secret") || strings.Contains(out, "goroutine") {
			t.Errorf("%q: %d, %s, want %d and %q", c.args, status, out, c.status, c.want)
		}
	}
}

// With -catalogue, the program searches the user's file.
func TestOwnCatalogue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mine.csv")
	if err := os.WriteFile(path, []byte("id,name,category,price_eur,material\nX10,Garden gnome,figure,19.5,clay\nX11,Flamingo,figure,9,plastic\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := storesOf["SQLite"](t)
	out, status := s.says(t, "", "-catalogue", path, "find clay figures")
	if status != 0 || !strings.Contains(out, "X10 Garden gnome (clay): 19.50 €") || strings.Contains(out, "Flamingo") {
		t.Errorf("%d: %s", status, out)
	}
}

// thread creates a thread on the server and returns its id.
func (s *process) thread(t *testing.T) string {
	t.Helper()
	var made struct {
		ID string `json:"thread_id"`
	}
	status, body := s.get(t, "POST", "/threads", `{}`)
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	return made.ID
}

// run runs kai in a thread to its end or its next question, and returns the state.
func (s *process) run(t *testing.T, thread, request string) state {
	t.Helper()
	if status, body := s.get(t, "POST", "/threads/"+thread+"/runs/wait", request); status != 200 || strings.Contains(body, `"__error__"`) {
		t.Fatalf("%d: %s", status, body)
	}
	return s.state(t, thread)
}

// state is the state of a thread, as clients see it.
type state struct {
	Values struct {
		Messages []struct {
			Type    string `json:"type"`
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"messages"`
		Turns     int      `json:"turnCount"`
		Iteration int      `json:"iteration"`
		Products  []any    `json:"collectedProducts"`
		Job       *kai.Job `json:"generationJob"`
		Final     *string  `json:"finalResponse"`
	} `json:"values"`
	Tasks []struct {
		Interrupts []struct {
			ID    string         `json:"id"`
			Value tools.Question `json:"value"`
		} `json:"interrupts"`
	} `json:"tasks"`
}

func (s *process) state(t *testing.T, thread string) (out state) {
	t.Helper()
	status, body := s.get(t, "GET", "/threads/"+thread+"/state", "")
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != 200 {
		t.Fatalf("%d: %s, %v", status, body, err)
	}
	return out
}

// text is the text of the last message.
func (s state) text() string { return s.Values.Messages[len(s.Values.Messages)-1].Content }

const modes = `"assistant_id":"kai","stream_mode":["messages-tuple","custom","updates","tools"]`

// said returns a request that runs kai with a message.
func said(text string) string {
	return fmt.Sprintf(`{%s,"input":{"messages":[{"role":"user","content":%q}]}}`, modes, text)
}

// approved returns a request that approves the waiting call.
func approved(t *testing.T, s state) string {
	t.Helper()
	if len(s.Tasks) != 1 || len(s.Tasks[0].Interrupts) != 1 {
		t.Fatalf("waiting are %+v", s.Tasks)
	}
	one := s.Tasks[0].Interrupts[0]
	data, err := json.Marshal(map[string]any{one.ID: one.Value.Approve()})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{%s,"command":{"resume":%s}}`, modes, data)
}

func messageBody(text string) string { return fmt.Sprintf(`{"message":%q}`, text) }

// Ctrl-C at an idle prompt ends the program without an error. In a turn it ends the turn.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	cmd := storesOf["SQLite"](t).command(t, "-pace", "1s")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	until := func(want string) {
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the program ended before %q", want)
	}
	until("conversation:")
	if _, err := io.WriteString(in, "find oak chairs under 700\n"); err != nil {
		t.Fatal(err)
	}
	until("· Search products")
	for _, want := range []string{"Stopped.", ""} {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			until(want)
		}
	}
	for lines.Scan() {
		t.Logf("then: %s", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}
