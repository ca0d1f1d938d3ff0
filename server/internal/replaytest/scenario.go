// Package replaytest replays recorded requests of HTTP clients to a server, and reports the differences from the recorded
// responses. A file of scenarios has the requests and the expected responses.
package replaytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A Scenario is a list of requests with the expected responses.
type Scenario struct {
	Name  string   `json:"name"`
	UUIDs []string `json:"uuids"` // variables that get a new UUID each
	Steps []step   `json:"steps"`
}

// A step is a request, or the wait for a webhook.
type step struct {
	Name       string            `json:"name"`
	Request    *request          `json:"request"`
	Webhook    string            `json:"webhook"`
	WaitMS     int               `json:"wait_ms"`
	Save       map[string]string `json:"save"` // variable: path, and perhaps " ~ " and a regular expression
	Poll       *poll             `json:"poll"`
	Background *background       `json:"background"`
	CloseAfter *condition        `json:"close_after"`
	Expect     *expectation      `json:"expect"`
}

type request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Raw     *string           `json:"raw"`
}

// A poll repeats a request until a value of the response is in a list.
type poll struct {
	Path string `json:"path"`
	In   []any  `json:"in"`
}

// background says that the next step begins before the response has ended: at once, or when an
// event meets a condition.
type background struct{ Until *condition }

// UnmarshalJSON reads true or {"until": condition}.
func (b *background) UnmarshalJSON(data []byte) error {
	if string(bytes.TrimSpace(data)) == "true" {
		return nil
	}
	var in struct {
		Until *condition `json:"until"`
	}
	err := strict(data, &in)
	b.Until = in.Until
	return err
}

// A condition is met by the event with the number Count among the events of its name, or by an event with this data.
type condition struct {
	Event string `json:"event"`
	Count int    `json:"count"`
	Data  any    `json:"data"`
}

// An expectation describes the response of a step. Status, headers, json, text and sse are compared if they are set. The
// other fields say how to compare.
type expectation struct {
	Status    *int              `json:"status"`
	StatusAny []int             `json:"status_any"`
	Headers   map[string]string `json:"headers"`
	JSON      json.RawMessage   `json:"json"`
	Text      *string           `json:"text"`
	SSE       *[]map[string]any `json:"sse"`
	Only      []string          `json:"only"`
	Unordered []string          `json:"unordered"`
	Exact     bool              `json:"exact"`
	Parts     []string          `json:"parts"` // for the recorder
	Any       []string          `json:"any"`   // for the recorder
}

// Read returns the scenarios of a file. It returns an error for an unknown field.
func Read(data []byte) ([]Scenario, error) {
	var file struct {
		Format    int               `json:"format"`
		Scenarios []json.RawMessage `json:"scenarios"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if file.Format != 1 || len(file.Scenarios) == 0 {
		return nil, fmt.Errorf("replay: the file has format %d and %d scenarios; this package reads format 1", file.Format, len(file.Scenarios))
	}
	var out []Scenario
	for i, raw := range file.Scenarios {
		var s Scenario
		if err := errors.Join(strict(raw, &s), s.check()); err != nil {
			return nil, fmt.Errorf("replay: scenario %d %q: %w", i, s.Name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func (s *Scenario) check() error {
	if s.Name == "" || len(s.Steps) == 0 {
		return errors.New("it has no name or no steps")
	}
	for _, st := range s.Steps {
		if (st.Request == nil) == (st.Webhook == "") {
			return fmt.Errorf("step %q needs either a request or a webhook", st.Name)
		}
		if st.Expect == nil {
			return fmt.Errorf("step %q expects nothing", st.Name)
		}
	}
	return nil
}
