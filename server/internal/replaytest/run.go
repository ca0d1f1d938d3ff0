package replaytest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/internal/uuid"
)

const limit = 30 * time.Second // of a request, a poll and a wait for a webhook

// A response is a response to a request. The paths of [step.Save] name its fields.
type response struct {
	mu     sync.Mutex
	fields map[string]any // status, headers, json, text and sse
}

func (r *response) set(name string, v any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fields[name] = v
}

func (r *response) get(name string) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fields[name]
}

// An exchange is a request whose response may still be arriving.
type exchange struct {
	step     *step
	request  *request
	response *response
	ready    chan struct{} // closed when the next step may begin
	done     chan struct{}
	once     sync.Once
	err      error
	counts   map[string]int
}

// Run sends the requests of a scenario to a server and returns the differences from the expectations. If there are none,
// the scenario has passed. The graphs of the server must call Pass of the gate.
func (s *Scenario) Run(ctx context.Context, base string, hooks *Hooks, gate *Gate) []string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	word := "c" + strings.ReplaceAll(uuid.New(), "-", "")[18:]
	vars := map[string]any{"case": word, "webhook_url": hooks.url + "/" + word}
	for _, name := range s.UUIDs {
		vars[name] = uuid.New()
	}
	var exchanges []*exchange
	release := func() {}
	defer func() { release() }()
	for i := range s.Steps {
		if s.Steps[i].waits() {
			release()
		}
		if held := s.Steps[i].hold(gate, vars); held != nil {
			release = held
		}
		x, err := s.Steps[i].run(ctx, base, hooks, vars)
		if err != nil {
			return []string{fmt.Sprintf("%s: %v", s.Steps[i].Name, err)}
		}
		exchanges = append(exchanges, x)
	}
	m := newMatcher(vars)
	var diffs []string
	for _, x := range exchanges {
		select {
		case <-x.done:
		case <-time.After(limit):
			x.err = errors.New("the response does not end")
		}
		if x.err != nil {
			return []string{fmt.Sprintf("%s: %v", x.step.Name, x.err)}
		}
		for _, d := range m.compare(x) {
			diffs = append(diffs, x.step.Name+": "+d)
		}
	}
	return diffs
}

// run sends the request of a step, or waits for its webhook, and saves variables.
func (st *step) run(ctx context.Context, base string, hooks *Hooks, vars map[string]any) (*exchange, error) {
	pause(ctx, time.Duration(st.WaitMS)*time.Millisecond)
	if st.Webhook != "" {
		x := newExchange(st, nil)
		close(x.done)
		if body, ok := hooks.wait(ctx, "/"+fmt.Sprint(vars["case"])+st.Webhook); ok {
			x.response.set("json", body)
		}
		return x, st.save(x.response, vars)
	}
	filled, err := st.Request.fill(vars)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(limit); ; pause(ctx, 100*time.Millisecond) {
		x := newExchange(st, filled)
		go x.send(ctx, base)
		<-x.ready
		if x.err != nil {
			return nil, x.err
		}
		if st.Poll == nil || time.Now().After(deadline) || st.Poll.met(x.response) {
			return x, st.save(x.response, vars)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func newExchange(st *step, r *request) *exchange {
	return &exchange{
		step: st, request: r, response: &response{fields: map[string]any{}}, ready: make(chan struct{}), done: make(chan struct{}), counts: map[string]int{},
	}
}

// fill replaces the variables of a request.
func (r *request) fill(vars map[string]any) (*request, error) {
	out := &request{Method: r.Method, Headers: map[string]string{}}
	path, err := filled(r.Path, vars)
	if err != nil {
		return nil, err
	}
	out.Path = fmt.Sprint(path)
	for k, v := range r.Headers {
		value, err := filled(v, vars)
		if err != nil {
			return nil, err
		}
		out.Headers[k] = fmt.Sprint(value)
	}
	if r.Raw != nil {
		raw, err := filled(*r.Raw, vars)
		if err != nil {
			return nil, err
		}
		text := fmt.Sprint(raw)
		out.Raw = &text
	}
	if r.Body == nil {
		return out, nil
	}
	var body any
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, err
	}
	if body, err = filled(body, vars); err != nil {
		return nil, err
	}
	out.Body, err = json.Marshal(body)
	return out, err
}

// filled replaces the variables in a value. If a text is only a variable, it becomes the value of the variable.
func filled(v any, vars map[string]any) (any, error) {
	switch v := v.(type) {
	case string:
		return filledText(v, vars)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = filled(item, vars); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			key, err := filledText(k, vars)
			if err != nil {
				return nil, err
			}
			if out[fmt.Sprint(key)], err = filled(item, vars); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func filledText(s string, vars map[string]any) (any, error) {
	for _, found := range variable.FindAllStringSubmatch(s, -1) {
		value, ok := vars[found[1]]
		if !ok {
			return nil, fmt.Errorf("there is no variable %s", found[0])
		}
		if found[0] == s {
			return value, nil
		}
		s = strings.ReplaceAll(s, found[0], fmt.Sprint(value))
	}
	return s, nil
}

// send sends the request and reads the response.
func (x *exchange) send(ctx context.Context, base string) {
	defer close(x.done)
	defer x.proceed()
	if err := x.exchange(ctx, base); err != nil {
		x.err = err
	}
}

func (x *exchange) proceed() { x.once.Do(func() { close(x.ready) }) }

func (x *exchange) exchange(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var body io.Reader
	switch {
	case x.request.Raw != nil:
		body = strings.NewReader(*x.request.Raw)
	case x.request.Body != nil:
		body = bytes.NewReader(x.request.Body)
	}
	r, err := http.NewRequestWithContext(ctx, x.request.Method, base+x.request.Path, body)
	if err != nil {
		return err
	}
	if x.request.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range x.request.Headers {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	headers := map[string]any{}
	for k := range resp.Header {
		headers[strings.ToLower(k)] = resp.Header.Get(k)
	}
	x.response.set("status", float64(resp.StatusCode))
	x.response.set("headers", headers)
	if b := x.step.Background; b != nil && b.Until == nil {
		x.proceed()
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return x.stream(resp.Body)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var v any
	if json.Unmarshal(data, &v) == nil {
		x.response.set("json", v)
	} else {
		x.response.set("text", string(data))
	}
	return nil
}

// stream reads server-sent events.
func (x *exchange) stream(body io.Reader) error {
	x.response.set("sse", []any{})
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 16<<20)
	event := map[string]string{}
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		if line != "" {
			if key, value, ok := strings.Cut(line, ":"); ok && key != "" {
				event[key] = strings.TrimPrefix(value, " ")
			}
			continue
		}
		if len(event) == 0 {
			continue
		}
		ended, err := x.add(event)
		if err != nil || ended {
			return err
		}
		event = map[string]string{}
	}
	return lines.Err()
}

// add adds an event to the response. It reports whether the step closes the connection after this event.
func (x *exchange) add(event map[string]string) (ended bool, err error) {
	e := map[string]any{"event": event["event"], "data": nil}
	if event["event"] == "" {
		e["event"] = "message"
	}
	if id, ok := event["id"]; ok {
		e["id"] = id
	}
	if event["data"] != "" {
		var data any
		if err := json.Unmarshal([]byte(event["data"]), &data); err != nil {
			return false, fmt.Errorf("the data of an event is not JSON: %w", err)
		}
		e["data"] = data
	}
	list, _ := x.response.get("sse").([]any)
	x.response.set("sse", append(slices.Clone(list), e))
	x.counts[event["event"]]++
	if b := x.step.Background; b != nil && b.Until != nil && x.hit(b.Until, e) {
		x.proceed()
	}
	return x.step.CloseAfter != nil && x.hit(x.step.CloseAfter, e), nil
}

func (x *exchange) hit(c *condition, last map[string]any) bool {
	if c.Data != nil {
		return last["event"] == c.Event && len(newMatcher(nil).match(c.Data, last["data"], "", false)) == 0
	}
	return x.counts[c.Event] >= max(c.Count, 1)
}

func (p *poll) met(r *response) bool {
	v, err := r.pick(p.Path)
	return err == nil && slices.Contains(p.In, v)
}

// pick returns the value at a dotted path.
func (r *response) pick(path string) (any, error) {
	parts := strings.Split(path, ".")
	v := r.get(parts[0])
	for _, part := range parts[1:] {
		switch in := v.(type) {
		case map[string]any:
			value, ok := in[part]
			if !ok {
				return nil, fmt.Errorf("there is no %s", path)
			}
			v = value
		case []any:
			i, err := strconv.Atoi(part)
			if i < 0 {
				i += len(in)
			}
			if err != nil || i < 0 || i >= len(in) {
				return nil, fmt.Errorf("there is no %s", path)
			}
			v = in[i]
		default:
			return nil, fmt.Errorf("there is no %s", path)
		}
	}
	return v, nil
}

func (st *step) save(r *response, vars map[string]any) error {
	for name, how := range st.Save {
		path, pattern, matched := strings.Cut(how, " ~ ")
		v, err := r.pick(path)
		if err != nil {
			return fmt.Errorf("saving %s: %w in %s", name, err, short(r.get("json")))
		}
		if matched {
			found := regexp.MustCompile(pattern).FindStringSubmatch(fmt.Sprint(v))
			if found == nil {
				return fmt.Errorf("saving %s: %q does not match %s", name, v, pattern)
			}
			v = found[1]
		}
		vars[name] = v
	}
	return nil
}
