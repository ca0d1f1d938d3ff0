package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/ui"
)

// Options configures a [Server]. Graphs and Runs are required.
type Options struct {
	// Graphs are the graphs to serve, by the name under which clients know them. Each is
	// compiled with a checkpoint store.
	Graphs map[string]*graph.Graph
	// Output names the channels that the results, the webhooks and the stream modes "values" and "updates" of a graph
	// have, by the name of the graph. The states of threads, the modes "tasks" and "debug", and subgraphs have all
	// channels. Nil, or a graph without an entry, means all channels that are not internal; see [state.Channel.Internal].
	Output map[string][]string
	// Input names the channels that clients may write, by the name of the graph. It applies to the input of a run, to
	// updates of a state, to commands, to the input of a node, and also in subgraphs. The server drops values for other
	// channels. If no value remains, it refuses the request. Nil, or a graph without an entry, means all channels that
	// are not internal. No client can write an internal channel; see [state.Channel.Internal].
	Input map[string][]string
	// Context has the JSON schemas of the contexts that the nodes of a graph read with [Context], by the name of the
	// graph. Clients read the schemas as context_schema and config_schema; see [ContextSchema]. The server does not use
	// them to check contexts. A graph without an entry has no schema.
	Context map[string]json.RawMessage
	// Stored is a checkpoint store whose threads the server shows even if the program does not have their graphs. Clients
	// can read the states, history and questions of these threads, and cannot run them. The store must be a
	// [checkpoint.ThreadLister]. With Stored, Graphs may be empty. A thread whose id is not a UUID gets another id on the
	// server, and the original id is the title in its metadata.
	Stored checkpoint.Store
	// ReadOnly refuses requests that change anything. The server then continues no runs and no crons, and removes no
	// events. Other servers may use the same store as a read-only server.
	ReadOnly bool
	// Runs keeps the assistants, threads, runs, crons and event logs.
	Runs runs.Store
	// Queue lets any number of servers share Runs and the checkpoint store. Any server executes the next run of a thread,
	// and clients can read a run at any server. Package riverqueue has a queue for PostgreSQL. A queue belongs to one
	// server, which closes it. Nil means that only this server uses Runs.
	Queue runs.Queue
	// Values is the store of values that clients may read and write. If it is nil, there is none.
	Values *memory.Values
	// Memory is the memory whose facts the studio shows. If it is nil, the studio shows no facts.
	Memory *memory.Memory
	// Scopes returns the scopes of Memory whose facts a user may see. If it is nil, users see all scopes without Auth,
	// and no scopes with Auth. If Scopes returns a [Refusal], the server sends it to the client.
	Scopes func(context.Context, User) ([]memory.Scope, error)
	// Auth returns the user of a request. If it returns a [Refusal], the server sends it to the client. For any other
	// error, the server refuses the request with status 401. A user sees and changes only the user's own objects. If Auth
	// is nil, there are no users, and the server accepts only requests from this machine.
	Auth func(*http.Request) (User, error)
	// Authorize decides what a user may do. If it returns a [Refusal], the server sends it to the client. For any other
	// error, the server logs the error and refuses the request with status 403. The server applies the returned filter to
	// the objects that the request reads, searches and changes, and sets the filter's owner and metadata in new objects.
	// It calls Authorize often, and concurrently. If Authorize is nil, a user may use the user's own objects and the
	// assistants of the graphs, and with [PermissionOperate] the threads of all users. The assistants of the graphs are
	// not filtered.
	Authorize func(context.Context, Access) (Filter, error)
	// Hosts are the names by which clients reach the server, as in the Host header, without ports. The server refuses
	// requests with another name, so that a page of another site cannot reach the server by a name that resolves to it.
	// Without Auth, it always accepts loopback addresses. Nil means any host with Auth, and only loopback addresses
	// without Auth.
	Hosts []string
	// Origins are the origins of pages that may call the server, such as https://example.com.
	// "*" means all. The server's own origin is always accepted.
	Origins []string
	// Webhooks says which webhooks the server calls. The zero value means none.
	Webhooks Webhooks
	// Limits bounds the resources that clients can use. The zero value has limits for a service of a few hundred users.
	Limits Limits
	// MaxRuns is the number of runs that are executed at the same time. Zero means 256.
	MaxRuns int
	// MaxBody is the largest body of a request, in bytes. Zero means 16 MiB.
	MaxBody int64
	// KeepEvents is the time for which an event of a run can be read. Zero means an hour.
	KeepEvents time.Duration
	// MaxEvents and MaxEventBytes are the largest number of events that the server keeps of a thread, and the largest
	// size of their data. It removes the oldest events when the log of a thread exceeds a limit by about a tenth. Zero
	// means 100,000 events and 64 MiB.
	MaxEvents     int
	MaxEventBytes int64
	// ThreadTTL is the time for which an unused thread is kept. Requests that create or change a thread may set another
	// time for it. A new value applies from the next change of a thread on. The server deletes or prunes expired
	// threads every 30 seconds, or with Queue in each sweep of the queue. The zero value keeps threads forever.
	ThreadTTL TTL
	// OnDelete is called before a thread is removed, so that a program can remove its own data of the thread. A thread is
	// removed by a request, when it has expired, or after the only run that it was made for. Before the call, the runs of
	// the thread have ended and new ones are refused. [UserID] of the context returns the owner. If OnDelete returns an
	// error, the thread is kept and can be deleted again. OnDelete may be nil.
	OnDelete func(ctx context.Context, thread string) error
	// Heartbeat is the interval at which the server sends a comment to each event stream, a line break to each client
	// that waits for the result of a run, except in OpenAI's protocol, and a ping to each WebSocket. Zero means 5 s.
	Heartbeat time.Duration
	// Chat is the chat page for end users, which the server serves at /chat/. Nil means none.
	Chat *ui.Chat
	// Studio is the page at /studio/ for people who build and operate graphs. Nil means none.
	Studio *ui.Studio
	// SaveTrace and RunContext make a run a part of the trace of the request that created it, even if another server
	// continues the run. The server stores the result of SaveTrace with the run, and the nodes of the run see the values
	// of the context that RunContext returns. wait is the time between the moment when the run was due and its first
	// begin. Package graph/otelgraph has both functions. Nil means none.
	SaveTrace  func(*http.Request) map[string]string
	RunContext func(ctx context.Context, trace map[string]string, wait time.Duration) context.Context
	// Cost returns the price of tokens that a node of a graph has used, in the currency of
	// [ui.Studio]. The studio shows it beside the tokens. Nil means that it shows no costs.
	Cost func(graph, node string, used llm.Usage) float64
	// Logger logs failures, with details that clients do not get, and the start and end of the server. Nil means that
	// nothing is logged.
	Logger *slog.Logger
}

// A Server serves graphs over HTTP. It is an [http.Handler], and is safe for concurrent use.
type Server struct {
	o      Options
	graphs map[string]*served
	stored *stored.Threads // the threads of Options.Stored, or nil
	mux    *http.ServeMux
	open   []string // the paths of pages
	start  time.Time

	ctx     context.Context // ends when the server is closed
	stop    context.CancelCauseFunc
	running sync.WaitGroup
	slots   *semaphore.Weighted
	room    *semaphore.Weighted // the bytes of the large runs that are executed

	accounts  *accounts
	meters    *meters
	readiness readiness
	webhooks  *http.Client

	mu     sync.Mutex
	lanes  map[string]*lane
	active map[string]*activeRun // by run id, queued runs included
	logs   map[string]*threadLog
	crons  map[string]context.CancelFunc
	// refused has the origins whose refusal was logged.
	refused map[string]bool
	// deleting has the threads that are being deleted. They get no new runs.
	deleting map[string]bool
	closed   bool

	queued atomic.Pointer[runs.QueueStats] // the last statistics of the queue
}

const (
	defaultMaxRuns       = 256
	defaultMaxBody       = 16 << 20
	defaultKeepEvents    = time.Hour
	defaultMaxEvents     = 100_000
	defaultMaxEventBytes = 64 << 20
	defaultHeartbeat     = 5 * time.Second
)

// New returns a server. It continues the unfinished runs of the previous server with the same store. Only one server may
// use a store, unless the servers share an [Options.Queue]. Close the server when it is no longer needed.
func New(o Options) (*Server, error) {
	if o.Runs == nil {
		return nil, errors.New("server: Options.Runs is nil; memruns.New() keeps runs in memory")
	}
	if len(o.Graphs) == 0 && o.Stored == nil {
		return nil, errors.New("server: there are no graphs to serve; set Options.Graphs")
	}
	threads, err := o.storedThreads()
	if err != nil {
		return nil, err
	}
	o.setDefaults()
	s := &Server{
		o: o, stored: threads, graphs: map[string]*served{}, mux: http.NewServeMux(), start: time.Now(), slots: semaphore.NewWeighted(int64(o.MaxRuns)),
		room:  semaphore.NewWeighted(o.Limits.executed()),
		lanes: map[string]*lane{}, active: map[string]*activeRun{}, logs: map[string]*threadLog{}, crons: map[string]context.CancelFunc{}, deleting: map[string]bool{}, refused: map[string]bool{},
	}
	s.accounts, s.meters, s.webhooks = newAccounts(o.Limits), newMeters(s), newWebhookClient(&s.o.Webhooks)
	s.o.Logger = slog.New(counting{o.Logger.Handler(), s.meters.errors})
	for _, name := range slices.Sorted(maps.Keys(o.Graphs)) {
		g := o.Graphs[name]
		switch {
		case g == nil:
			return nil, fmt.Errorf("server: graph %q is nil: check the error of Compile", name)
		case g.Checkpoints() == nil:
			return nil, fmt.Errorf("server: graph %q has no checkpoint store; compile it with graph.Options.Checkpoints", name)
		}
		s.graphs[name] = newServed(name, g)
	}
	if err := cmp.Or(s.chooseInput(), s.chooseOutput(), s.checkContext()); err != nil {
		return nil, err
	}
	if o.Auth == nil {
		s.o.Logger.Warn("server: there is no authentication: every program on this machine can read and change everything, and other machines are refused",
			"cure", "set Options.Auth before others use this server")
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.routes()
	if err := s.begin(); err != nil {
		s.stop(err)
		return nil, fmt.Errorf("server: %w", err)
	}
	return s, nil
}

// chooseInput applies Options.Input.
func (s *Server) chooseInput() error {
	for name, input := range s.o.Input {
		g, err := s.choice("Input", name, input)
		if err != nil {
			return err
		}
		for _, c := range g.draw.Channels {
			if c.Internal && slices.Contains(input, c.Name) {
				return fmt.Errorf("server: Options.Input: the channel %q of the graph %q is internal: no client writes it", c.Name, name)
			}
		}
		g.input = &input
		g.limitInput()
	}
	return nil
}

// chooseOutput applies Options.Output.
func (s *Server) chooseOutput() error {
	for name, output := range s.o.Output {
		g, err := s.choice("Output", name, output)
		if err != nil {
			return err
		}
		for _, c := range g.draw.Channels {
			g.channels.hidden[c.Name] = !slices.Contains(output, c.Name)
		}
	}
	return nil
}

// checkContext checks Options.Context.
func (s *Server) checkContext() error {
	for name, schema := range s.o.Context {
		if _, err := s.choice("Context", name, nil); err != nil {
			return err
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(schema, &fields) != nil || fields == nil {
			return fmt.Errorf("server: Options.Context: the schema of the graph %q is not a JSON object", name)
		}
	}
	return nil
}

// choice returns the graph for an entry of an option. It returns an error if there is no such graph, or if the graph has
// no such channel.
func (s *Server) choice(option, name string, channels []string) (*served, error) {
	g := s.graphs[name]
	if g == nil {
		return nil, fmt.Errorf("server: Options.%s: there is no graph %q in Options.Graphs", option, name)
	}
	for _, channel := range channels {
		if !g.has(channel) {
			return nil, fmt.Errorf("server: Options.%s: the graph %q has no channel %q", option, name, channel)
		}
	}
	return g, nil
}

// setDefaults replaces zero values.
func (o *Options) setDefaults() {
	if o.MaxRuns <= 0 {
		o.MaxRuns = defaultMaxRuns
	}
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.KeepEvents <= 0 {
		o.KeepEvents = defaultKeepEvents
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = defaultMaxEvents
	}
	if o.MaxEventBytes <= 0 {
		o.MaxEventBytes = defaultMaxEventBytes
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = defaultHeartbeat
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Limits.setDefaults()
}

// begin stores the assistants of the graphs, and continues runs and crons.
func (s *Server) begin() error {
	if err := s.pages(); err != nil {
		return err
	}
	for _, g := range s.graphs {
		if err := s.ensureAssistant(s.ctx, g); err != nil {
			return err
		}
	}
	if s.o.ReadOnly {
		return nil
	}
	if s.o.Queue != nil { // the sweeps of the queue do the rest
		return s.startQueue()
	}
	if err := s.resumeRuns(); err != nil {
		return err
	}
	if err := s.resumeCrons(); err != nil {
		return err
	}
	s.running.Go(s.trimLogs)
	s.running.Go(s.expireThreads)
	return nil
}

// trimLogs removes old events from time to time.
func (s *Server) trimLogs() {
	tick := time.NewTicker(max(s.o.KeepEvents/10, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			err := safely(s.trim)
			if err != nil && s.ctx.Err() == nil {
				s.o.Logger.Error("server: old events were not removed", "error", err)
			}
		}
	}
}

// trim removes the events that are older than Options.KeepEvents, and the oldest events of each thread that exceeds
// Options.MaxEvents or Options.MaxEventBytes.
func (s *Server) trim() error {
	_, err := s.o.Runs.Trim(s.ctx, "", runs.Bounds{Since: time.Now().Add(-s.o.KeepEvents), Events: s.o.MaxEvents, Bytes: s.o.MaxEventBytes})
	return err
}

// tell tells other servers that a thread has changed.
func (s *Server) tell(thread string) {
	if s.o.Queue != nil {
		s.o.Queue.Tell(thread)
	}
}

// Close stops the server. Each run stops at the end of its superstep, and the next server with the same store continues
// the run. Close waits for the runs until ctx ends. If some runs have not stopped then, it returns an error: the next
// server continues these runs as if this process had been killed.
func (s *Server) Close(ctx context.Context) error {
	defer s.webhooks.CloseIdleConnections()
	s.mu.Lock()
	again := s.closed
	s.closed = true
	runs := slices.Collect(maps.Values(s.active))
	s.mu.Unlock()
	if !again {
		s.o.Logger.Info("server: draining", "runs", len(runs))
		defer s.logDrained(time.Now(), runs)
	}
	for _, r := range runs {
		r.drain()
	}
	if s.o.Queue != nil {
		if err := s.o.Queue.Close(ctx); err != nil {
			s.o.Logger.Error("server: the queue was not closed; other servers take its jobs", "error", err)
		}
	}
	for _, r := range runs {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
	s.stop(errClosed)
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-ended:
		return nil
	case <-time.After(closeGrace): // for goroutines that end without waiting for a run
		return fmt.Errorf("server: some runs have not stopped; the next server continues them: %w", context.Cause(ctx))
	}
}

// logDrained logs numbers of runs of a server that shuts down: runs that have ended, runs that another server continues,
// and runs that have not stopped. The last ones are continued as if the process had been killed.
func (s *Server) logDrained(began time.Time, list []*activeRun) {
	ended, handedOver, unfinished := 0, 0, 0
	for _, r := range list {
		select {
		case <-r.done:
			if r.drained.Load() {
				handedOver++
			} else {
				ended++
			}
		default:
			unfinished++
		}
	}
	level := slog.LevelInfo
	if unfinished > 0 {
		level = slog.LevelWarn
	}
	s.o.Logger.Log(context.Background(), level, "server: drained", "ended", ended, "handed_over", handedOver, "unfinished", unfinished,
		"took", time.Since(began).Round(time.Millisecond).String())
}

// closeGrace is the time for which Close still waits after the end of its context.
const closeGrace = 100 * time.Millisecond

var errClosed = errors.New("the server is closed")

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.serve(w, r) }
