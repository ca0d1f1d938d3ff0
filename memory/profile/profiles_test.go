package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/profile"
)

var ann = memory.Scope{Tenant: "acme", User: "ann"}

func check(tb testing.TB, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("got  %s\nwant %s", got, want)
	}
}

func second[T any](_ T, err error) error { return err }

func TestMerge(t *testing.T) {
	t.Parallel()
	tests := []struct{ document, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{``, `{"a":{"b":null}}`, `{"a":{}}`},
		{`{"a":1.50,"b":12345678901234567890}`, `{"c":"<&>"}`, `{"a":1.50,"b":12345678901234567890,"c":"<&>"}`},
		{`{"a":[null]}`, `{"b":[null]}`, `{"a":[null],"b":[null]}`},
	}
	for _, test := range tests {
		got, err := profile.Merge(json.RawMessage(test.document), json.RawMessage(test.patch))
		if err != nil {
			t.Errorf("%s and %s: %v", test.document, test.patch, err)
		}
		check(t, string(got), test.want)
	}
	for _, test := range [][2]string{{`{`, `{}`}, {`{}`, `{`}, {`{}`, ``}, {`{} {}`, `{}`}, {"\"\xff\"", `{}`}, {`{}`, "{\"\xff\":1}"}} {
		if got, err := profile.Merge(json.RawMessage(test[0]), json.RawMessage(test[1])); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%q: got %s and %v, want an ErrInvalid", test, got, err)
		}
	}
}

// FuzzMerge wants a patch to say, for each of its fields, what the result has there, and a patch that is
// applied twice to change nothing more.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a":{"b":1,"c":[2]}}`, `{"a":{"b":null},"d":3}`)
	f.Add(`[]`, `{"a":{"b":{"c":null}}}`)
	f.Add(``, `null`)
	f.Add(`{"a":1,"a":2}`, `{"a":{},"a":null}`)
	f.Fuzz(func(t *testing.T, document, patch string) {
		merged, err := profile.Merge(json.RawMessage(document), json.RawMessage(patch))
		if err != nil {
			if !errors.Is(err, memory.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		again, err := profile.Merge(merged, json.RawMessage(patch))
		if err != nil || string(again) != string(merged) {
			t.Fatalf("got %s and then %s, %v", merged, again, err)
		}
		var doc, change, got any
		if document != "" {
			_ = json.Unmarshal([]byte(document), &doc) // numbers out of range stay nil on both sides
		}
		if json.Unmarshal([]byte(patch), &change) != nil || json.Unmarshal(merged, &got) != nil {
			return
		}
		holds(t, doc, change, got)
	})
}

func holds(t *testing.T, document, patch, got any) {
	t.Helper()
	fields, ok := patch.(map[string]any)
	if !ok {
		if fmt.Sprint(patch) != fmt.Sprint(got) {
			t.Fatalf("got %v want %v", got, patch)
		}
		return
	}
	merged, ok := got.(map[string]any)
	if !ok {
		t.Fatalf("got %v want an object", got)
	}
	before, _ := document.(map[string]any)
	for name, value := range fields {
		now, there := merged[name]
		if there == (value == nil) {
			t.Fatalf("field %q: got %v, patched with %v", name, now, value)
		}
		if there {
			holds(t, before[name], value, now)
		}
	}
	for name, value := range before {
		if _, patched := fields[name]; !patched && fmt.Sprint(merged[name]) != fmt.Sprint(value) {
			t.Fatalf("field %q: got %v want %v, as before", name, merged[name], value)
		}
	}
}

func TestContextKeepsOtherFields(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newProfiles()
	if _, err := p.Patch(ctx, ann, profile.ContextSchema, json.RawMessage(`{"plan":"free","since":2019,"preferences":{"a":1}}`), 0); err != nil {
		t.Fatal(err)
	}
	set, err := p.SetContext(ctx, ann, profile.Context{Usage: json.RawMessage(`{"n":1.50}`), Preferences: json.RawMessage(`{"b":2}`)})
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Get(ctx, ann, profile.ContextSchema)
	if err != nil {
		t.Fatal(err)
	}
	check(t, string(d.Value), `{"preferences":{"b":2},"since":2019,"usage":{"n":1.50}}`)
	got, err := p.Context(ctx, ann)
	if err != nil || got.Version != set.Version || got.Plan != "" || string(got.Usage) != `{"n":1.50}` || got.UpdatedAt.IsZero() || !got.Known() {
		t.Errorf("got %+v and %v", got, err)
	}
	stale := set
	if _, err := p.SetContext(ctx, ann, set); err != nil {
		t.Fatal(err)
	}
	if _, err := p.SetContext(ctx, ann, stale); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("got %v, want an ErrConflict", err)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	tests := []struct {
		name string
		give profile.Context
		want string
	}{
		{"nothing", profile.Context{}, profile.None},
		{"nothing in it", profile.Context{Plan: " ", Usage: raw(`{}`), Preferences: raw(`[null,""]`)}, profile.None},
		{"a plan", profile.Context{Plan: "free"}, "Plan: free"},
		{"texts", profile.Context{Plan: "free", Usage: profile.Text("little"), Preferences: profile.Text("tea")}, "Plan: free\nUsage: little\nPreferences: tea"},
		{"an object in a text", profile.Context{Usage: profile.Text(`{"n": 1}`)}, "Usage: n: 1"},
		{"a list in a text stays", profile.Context{Usage: profile.Text(`[1]`)}, "Usage: [1]"},
		{
			"objects",
			profile.Context{Usage: raw(`{"z":1.50,"a":{"b":"x","c":true,"d":null},"l":["p","q",{"r":false}]}`)},
			"Usage: a b: x; a c: yes; l: p, q, r: no; z: 1.50",
		},
		{"a number", profile.Context{Usage: raw(`17`)}, "Usage: 17"},
		{"no other line", profile.Context{Plan: "free\nPlan: enterprise", Preferences: profile.Text("a\r\n\u2028b\x1b[0m")}, "Plan: free Plan: enterprise\nPreferences: a b[0m"},
		{"no JSON", profile.Context{Usage: raw(`{`)}, profile.None},
		{"long", profile.Context{Plan: strings.Repeat("é", 600)}, "Plan: " + strings.Repeat("é", 500) + "…"},
		{"long by a byte", profile.Context{Plan: "x" + strings.Repeat("é", 600)}, "Plan: x" + strings.Repeat("é", 499) + "…"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			check(t, test.give.Summary(), test.want)
		})
	}
}

// A context that others wrote, as a table of texts has it, is read.
func TestContextOfOthers(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`{"plan":null,"usage":null}`: profile.None,
		`{"plan":7}`:                 "Plan: 7",
		`{"plan":"pro","usage":"{\"n\": 9}","preferences":"dark theme"}`: "Plan: pro\nUsage: n: 9\nPreferences: dark theme",
	} {
		p := newProfiles()
		if _, err := p.Put(t.Context(), ann, profile.Document{Schema: profile.ContextSchema, Value: json.RawMessage(document)}); err != nil {
			t.Fatal(err)
		}
		got, err := p.Summary(t.Context(), ann)
		if err != nil {
			t.Error(err)
		}
		check(t, got, want)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newProfiles()
	put := func(s memory.Scope, schema, value string) error {
		return second(p.Put(ctx, s, profile.Document{Schema: schema, Value: json.RawMessage(value)}))
	}
	var listed error
	for _, listed = range p.List(ctx, memory.Scope{Tenant: "acme"}) {
	}
	for name, err := range map[string]error{
		"no store":                 second(profile.New(nil)),
		"no user":                  put(memory.Scope{Tenant: "acme"}, "s", `{}`),
		"no schema":                put(ann, "", `{}`),
		"no object":                put(ann, "s", `[]`),
		"nothing":                  put(ann, "s", ``),
		"no JSON":                  put(ann, "s", `{`),
		"a NUL":                    put(ann, "s", `{"a":"\u0000"}`),
		"too large":                put(ann, "s", `{"a":"`+strings.Repeat("x", profile.MaxDocument)+`"}`),
		"get of no user":           second(p.Get(ctx, memory.Scope{}, "s")),
		"context of no user":       second(p.Context(ctx, memory.Scope{})),
		"delete of no user":        p.Delete(ctx, memory.Scope{}, "s", 0),
		"list of no user":          listed,
		"a patch that is a list":   second(p.Patch(ctx, ann, "s", json.RawMessage(`[]`), 0)),
		"a patch that is nothing":  second(p.Patch(ctx, ann, "s", nil, 0)),
		"a patch that is no JSON":  second(p.Patch(ctx, ann, "s", json.RawMessage(`{"a"}`), 0)),
		"a context that is broken": second(p.SetContext(ctx, ann, profile.Context{Usage: json.RawMessage(`{`)})),
		"a context with a NUL":     second(p.SetContext(ctx, ann, profile.Context{Plan: "a\x00"})),
		"forget another scope":     second(p.Forget(ctx, memory.Scope{User: "\xff"})),
	} {
		if !errors.Is(err, memory.ErrInvalid) || !strings.HasPrefix(err.Error(), "profile: ") {
			t.Errorf("%s: got %v, want an ErrInvalid", name, err)
		}
	}
	for d, err := range p.List(ctx, ann) {
		t.Errorf("stored %+v, %v", d, err)
	}
	if got, err := p.Summary(ctx, memory.Scope{}); got != profile.None || err != nil {
		t.Errorf("got %q and %v", got, err)
	}
}

// broken fails as a database does that is down.
type broken struct{ driver.ValueStore }

var errDown = errors.New("down")

func (broken) Find(context.Context, memory.Scope, driver.ValueSelection) iter.Seq2[memory.Item, error] {
	return func(yield func(memory.Item, error) bool) { yield(memory.Item{}, errDown) }
}

func (broken) Apply(context.Context, memory.Scope, []driver.ValueWrite) ([]memory.Item, error) {
	return nil, errDown
}

func (broken) Forget(context.Context, memory.Scope) (int, error) { return 0, errDown }

func TestBroken(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := profile.New(broken{})
	if err != nil {
		t.Fatal(err)
	}
	var listed error
	for _, listed = range p.List(ctx, ann) {
	}
	for name, err := range map[string]error{
		"get": second(p.Get(ctx, ann, "s")), "put": second(p.Put(ctx, ann, profile.Document{Schema: "s", Value: json.RawMessage(`{}`)})),
		"patch": second(p.Patch(ctx, ann, "s", json.RawMessage(`{}`), 0)), "delete": p.Delete(ctx, ann, "s", 0), "list": listed,
		"context": second(p.Context(ctx, ann)), "set context": second(p.SetContext(ctx, ann, profile.Context{})), "summary": second(p.Summary(ctx, ann)),
		"forget": second(p.Forget(ctx, ann)),
	} {
		if !errors.Is(err, errDown) || !strings.HasPrefix(err.Error(), "profile: "+name+": ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTyped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newProfiles()
	if _, _, err := profile.Get[int](ctx, p, ann, "s"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Put(ctx, ann, profile.Document{Schema: "s", Value: json.RawMessage(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := profile.Get[map[string]string](ctx, p, ann, "s"); err == nil || got != nil {
		t.Errorf("another type: got %v and %v", got, err)
	}
	if got, version, err := profile.Get[map[string]int](ctx, p, ann, "s"); err != nil || got["a"] != 1 || version == 0 {
		t.Errorf("got %v, %d and %v", got, version, err)
	}
}
