package main

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weft-go/weft/examples/chatapi/internal/api"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
)

// description has the parts of openapi.json that the tests use.
type description struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	RequestBody struct {
		Content map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Ref     string           `json:"$ref"`
		Content map[string]media `json:"content"`
	} `json:"responses"`
}

type media struct {
	Schema json.RawMessage `json:"schema"`
}

var readDescription = sync.OnceValues(func() (description, error) {
	var d description
	err := json.Unmarshal([]byte(strings.ReplaceAll(string(api.OpenAPI), "#/components/schemas/", "#/$defs/")), &d)
	return d, err
})

// find returns the operation of a request.
func (d description) find(t *testing.T, method, path string) (operation, bool) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for pattern, methods := range d.Paths {
		wanted := strings.Split(pattern, "/")
		fits := len(parts) == len(wanted)
		for i := range min(len(parts), len(wanted)) {
			fits = fits && (parts[i] == wanted[i] || wanted[i] == "{id}")
		}
		if raw, ok := methods[strings.ToLower(method)]; ok && fits {
			var o operation
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatal(err)
			}
			return o, true
		}
	}
	return operation{}, false
}

// check returns an error if a JSON text does not match a schema.
func (d description) check(t *testing.T, schema json.RawMessage, text string) error {
	t.Helper()
	all := map[string]any{"$defs": d.Components.Schemas, "allOf": []json.RawMessage{schema}}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(asJSON(t, all)), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}

// described fails the test if a response does not match openapi.json, or if the server accepted a body
// that does not match it.
func described(t *testing.T, method, path, body string, res *http.Response, text string) {
	t.Helper()
	if !strings.HasPrefix(path, "/api/") {
		return
	}
	d, err := readDescription()
	if err != nil {
		t.Fatal(err)
	}
	o, ok := d.find(t, method, path)
	if !ok {
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is not described, and answers %d", method, path, res.StatusCode)
		}
		return
	}
	answer, ok := o.Responses[strconv.Itoa(res.StatusCode)]
	if !ok {
		t.Errorf("%s %s: the status %d is not described: %s", method, path, res.StatusCode, text)
		return
	}
	if answer.Ref != "" {
		answer.Content = map[string]media{"application/json": {Schema: json.RawMessage(`{"$ref":"#/$defs/Problem"}`)}}
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	m, ok := answer.Content[kind]
	switch {
	case !ok && (len(answer.Content) > 0 || text != ""):
		t.Errorf("%s %s: %q is not described for the status %d: %s", method, path, kind, res.StatusCode, text)
	case kind == "application/json":
		if err := d.check(t, m.Schema, text); err != nil {
			t.Errorf("%s %s: %s is not what is described: %v", method, path, text, err)
		}
	}
	if wanted, ok := o.RequestBody.Content["application/json"]; ok && res.StatusCode < 300 {
		if err := d.check(t, wanted.Schema, body); err != nil {
			t.Errorf("%s %s took %s, and what is described refuses it: %v", method, path, body, err)
		}
	}
}

// The routes of package api are exactly the routes that openapi.json describes. In all tests, app.do
// checks the responses against openapi.json.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	a := start(t, sqlite(t), rules())
	served := into[description](t, a.do("GET", "/openapi.json", ""), http.StatusOK)
	var have []string
	for path, methods := range served.Paths {
		for method := range methods {
			if method != "parameters" {
				have = append(have, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(have)
	if want := api.Routes(); !slices.Equal(have, want) {
		t.Errorf("described are\n%s\nserved are\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	session := a.ask("", "", "hello").SessionID
	for _, route := range have {
		method, path, _ := strings.Cut(route, " ")
		path = strings.ReplaceAll(path, "{id}", session)
		// do checks the response to a request without a body.
		if r := a.do(method, path, ""); r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s", route, r.status, r.body)
		}
		if strings.HasPrefix(route, "DELETE") {
			session = a.ask("", "", "hello").SessionID
		}
	}
	for _, bad := range []string{`{}`, `{"message":1}`, `{"message":"x","session":"y"}`, `{"message":""}`} {
		d, err := readDescription()
		if err != nil {
			t.Fatal(err)
		}
		if d.check(t, d.Components.Schemas["ChatRequest"], bad) == nil {
			t.Errorf("the description takes %s", bad)
		}
		if r := a.do("POST", "/api/chat", bad); r.status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s", bad, r.status, r.body)
		}
	}
}

// A program without a store also answers as openapi.json describes.
func TestOpenAPIWhereNothingIsKept(t *testing.T) {
	t.Parallel()
	a := start(t, store.Config{}, rules())
	id := a.ask("", "", "hello").SessionID
	for _, path := range []string{"/api/sessions", "/api/sessions/" + id} {
		if r := a.do("GET", path, ""); r.status != http.StatusOK {
			t.Errorf("GET %s: got %d %s", path, r.status, r.body)
		}
	}
	for _, route := range []string{"DELETE /api/sessions/" + id, "GET /api/context?user_id=ann"} {
		method, path, _ := strings.Cut(route, " ")
		if r := a.do(method, path, ""); r.status != http.StatusNotFound {
			t.Errorf("%s: got %d %s", route, r.status, r.body)
		}
	}
}
