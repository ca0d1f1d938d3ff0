package howto_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// echo returns an agent that repeats the message of the user.
func echo() *graph.Graph {
	return must(agent.New("echo", llmtest.Echo{}, nil, agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))
}

// serve starts a server with the graph echo, unless the options have graphs. It returns the address, and a
// function that ends the server.
func serve(o server.Options) (string, func()) {
	o.Runs = memruns.New()
	if o.Graphs == nil {
		o.Graphs = map[string]*graph.Graph{"echo": echo()}
	}
	s := must(server.New(o))
	web := httptest.NewServer(s)
	return web.URL, func() {
		web.Close()
		_ = s.Close(context.Background())
	}
}

// post sends JSON to the server and decodes its answer.
func post(address, body string, answer any) {
	resp := must(http.Post(address, "application/json", strings.NewReader(body)))
	defer func() { _ = resp.Body.Close() }()
	if answer == nil {
		answer = new(any)
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		panic(err)
	}
}

// get decodes the JSON that the server has at an address.
func get(address string, answer any) {
	resp := must(http.Get(address))
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		panic(err)
	}
}

// A handler of your own checks the user, and sends the chunks of a run as lines of JSON.
func Example_streamToABrowser() {
	bot := echo()
	users := map[string]string{"token-of-ann": "ann"}
	chat := func(w http.ResponseWriter, r *http.Request) {
		user, ok := users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		if !ok {
			http.Error(w, "unknown token", http.StatusUnauthorized)
			return
		}
		var in struct{ Text string }
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&in); err != nil {
			http.Error(w, "the body is not a message", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		send := func(kind, text string) {
			_ = json.NewEncoder(w).Encode(map[string]string{"kind": kind, "text": text})
			_ = http.NewResponseController(w).Flush()
		}
		thread := bot.Thread(url.PathEscape(user) + "/" + url.PathEscape(r.PathValue("thread")))
		for c, err := range agent.Chunks(thread.Stream(r.Context(), agent.Messages.Put(llm.User(in.Text)))) {
			switch {
			case errors.Is(err, context.Canceled):
				return // the browser has left, and the run ends
			case err != nil:
				send("error", "the run failed")
				return
			case c.Kind == agent.ChunkText:
				send("text", c.Text)
			case c.Kind == agent.ChunkEnd:
				send("end", "")
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chat/{thread}", chat)
	web := httptest.NewServer(mux)
	defer web.Close()

	for _, token := range []string{"token-of-ann", "guess"} {
		request := must(http.NewRequest(http.MethodPost, web.URL+"/chat/1", strings.NewReader(`{"text": "good morning"}`)))
		request.Header.Set("Authorization", "Bearer "+token)
		resp := must(http.DefaultClient.Do(request))
		fmt.Println(resp.StatusCode, strings.TrimSpace(string(must(io.ReadAll(resp.Body)))))
		_ = resp.Body.Close()
	}
	// Output:
	// 200 {"kind":"text","text":"good "}
	// {"kind":"text","text":"morni"}
	// {"kind":"text","text":"ng"}
	// {"kind":"end","text":""}
	// 401 unknown token
}

// sendEvent writes an event of a stream of server-sent events. The data is one line, since it is JSON.
func sendEvent(w http.ResponseWriter, kind string, data any) error {
	line, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, line); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// A handler sends the chunks of a run as server-sent events.
func Example_serverSentEvents() {
	bot := echo()
	chat := func(w http.ResponseWriter, r *http.Request) { // a real handler checks the user, as above
		w.Header().Set("Content-Type", "text/event-stream")
		thread := bot.Thread(url.PathEscape(r.PathValue("thread")))
		for c, err := range agent.Chunks(thread.Stream(r.Context(), agent.Messages.Put(llm.User(r.FormValue("text"))))) {
			switch {
			case err != nil:
				err = sendEvent(w, "error", "the run failed")
			case c.Kind == agent.ChunkText:
				err = sendEvent(w, "text", c.Text)
			case c.Kind == agent.ChunkEnd:
				err = sendEvent(w, "end", nil)
			}
			if err != nil {
				return // the browser has left, and the run ends
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chat/{thread}", chat)
	web := httptest.NewServer(mux)
	defer web.Close()

	resp := must(http.PostForm(web.URL+"/chat/1", url.Values{"text": {"good morning"}}))
	defer func() { _ = resp.Body.Close() }()
	fmt.Print(string(must(io.ReadAll(resp.Body))))
	// Output:
	// event: text
	// data: "good "
	//
	// event: text
	// data: "morni"
	//
	// event: text
	// data: "ng"
	//
	// event: end
	// data: null
}

// A client starts a run, leaves, and reads the result later.
func Example_backgroundRun() {
	address, end := serve(server.Options{})
	defer end()
	var thread struct {
		ID string `json:"thread_id"`
	}
	post(address+"/threads", `{}`, &thread)
	var run struct {
		ID string `json:"run_id"`
	}
	post(address+"/threads/"+thread.ID+"/runs",
		`{"assistant_id": "echo", "input": {"messages": [{"role": "user", "content": "good morning"}]}}`, &run)

	// Any client that may see the thread can wait for the run.
	resp := must(http.Get(address + "/threads/" + thread.ID + "/runs/" + run.ID + "/join"))
	defer func() { _ = resp.Body.Close() }()
	var values struct {
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&values); err != nil {
		panic(err)
	}
	fmt.Println(values.Messages[1].Content)
	// Output: good morning
}

// A second request with the same key returns the existing cron.
func Example_cron() {
	address, end := serve(server.Options{})
	defer end()
	register := func() (id string) {
		request := must(http.NewRequest(http.MethodPost, address+"/runs/crons", strings.NewReader(`{
			"assistant_id": "echo",
			"schedule": "0 8 * * 1",
			"timezone": "Europe/Athens",
			"input": {"messages": [{"role": "user", "content": "write the report of the week"}]}
		}`)))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", "report of the week")
		resp := must(http.DefaultClient.Do(request))
		defer func() { _ = resp.Body.Close() }()
		var cron struct {
			ID     string `json:"cron_id"`
			Detail string // the reason, in a response with status 422
		}
		if err := json.NewDecoder(resp.Body).Decode(&cron); err != nil {
			panic(err)
		}
		if resp.StatusCode != http.StatusOK {
			panic(cron.Detail)
		}
		return cron.ID
	}
	first, second := register(), register()
	fmt.Println(first == second)
	// Output: true
}

// The server calls an address when a run has ended.
func Example_webhook() {
	called := make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var run struct{ Status string }
		if err := json.NewDecoder(r.Body).Decode(&run); err != nil {
			panic(err)
		}
		called <- run.Status
	}))
	defer hook.Close()
	address, end := serve(server.Options{Webhooks: server.Webhooks{
		Hosts: []string{must(url.Parse(hook.URL)).Host},
		// Only for this example: a host on this machine, without TLS.
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		HTTP:     true,
	}})
	defer end()
	body := must(json.Marshal(map[string]any{
		"assistant_id": "echo",
		"input":        map[string]any{"messages": []any{map[string]string{"role": "user", "content": "hello"}}},
		"webhook":      hook.URL + "/done",
	}))
	post(address+"/runs", string(body), nil)
	fmt.Println("the run ended:", <-called)
	// Output: the run ended: success
}

// Each user has a token, and sees only its own threads.
func Example_users() {
	users := map[string]server.User{"token-of-ann": {ID: "ann"}, "token-of-bob": {ID: "bob"}}
	address, end := serve(server.Options{
		Auth: func(r *http.Request) (server.User, error) {
			user, ok := users[r.Header.Get("X-Api-Key")]
			if !ok {
				return server.User{}, errors.New("no user has this token") // 401
			}
			return user, nil
		},
		Hosts: []string{"127.0.0.1"}, // the names by which clients reach the server
	})
	defer end()

	do := func(token, method, path string, body []byte) *http.Response {
		request := must(http.NewRequest(method, address+path, bytes.NewReader(body)))
		request.Header.Set("X-Api-Key", token)
		return must(http.DefaultClient.Do(request))
	}
	created := do("token-of-ann", http.MethodPost, "/threads", []byte(`{}`))
	defer func() { _ = created.Body.Close() }()
	var thread struct {
		ID string `json:"thread_id"`
	}
	if err := json.NewDecoder(created.Body).Decode(&thread); err != nil {
		panic(err)
	}
	for _, token := range []string{"token-of-ann", "token-of-bob", "guess"} {
		resp := do(token, http.MethodGet, "/threads/"+thread.ID, nil)
		fmt.Println(token, resp.StatusCode)
		_ = resp.Body.Close()
	}
	// Output:
	// token-of-ann 200
	// token-of-bob 404
	// guess 401
}
