package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
)

// An assistant is a graph with a configuration, as clients see it.
type assistant struct {
	ID          string          `json:"assistant_id"`
	Graph       string          `json:"graph_id"`
	Config      json.RawMessage `json:"config"`
	Context     json.RawMessage `json:"context"`
	Metadata    json.RawMessage `json:"metadata"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Version     int             `json:"version"`
	Created     time.Time       `json:"created_at"`
	Updated     time.Time       `json:"updated_at"`
}

// assistantData is the part of an assistant that is not searched.
type assistantData struct {
	Config      json.RawMessage
	Context     json.RawMessage
	Description *string
	Version     int
	Last        int // the number of the newest version
}

func readAssistant(r runs.Record) (assistant, assistantData, error) {
	var d assistantData
	err := json.Unmarshal(r.Data, &d)
	return assistant{
		ID: r.ID, Graph: r.Graph, Config: d.Config, Context: d.Context, Metadata: r.Metadata, Name: r.Name,
		Description: d.Description, Version: d.Version, Created: r.Created, Updated: r.Updated,
	}, d, err
}

// now returns the time in the precision of the stores.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

var emptyObject = json.RawMessage("{}")

func orEmpty(data json.RawMessage) json.RawMessage {
	if len(data) == 0 || string(bytes.TrimSpace(data)) == "null" {
		return emptyObject
	}
	return data
}

// ensureAssistant stores the assistant of a graph, unless it exists.
func (s *Server) ensureAssistant(ctx context.Context, g *served) error {
	at := now()
	r := runs.Record{
		Kind: runs.Assistant, ID: g.assistant, Graph: g.name, Name: g.name, Created: at, Updated: at, Metadata: json.RawMessage(`{"created_by":"system"}`),
		Data: encoded(assistantData{Config: emptyObject, Context: emptyObject, Version: 1, Last: 1}),
	}
	err := s.o.Runs.Insert(ctx, r, versionOf(r, 1))
	if errors.Is(err, runs.ErrExists) {
		return nil
	}
	return err
}

// system reports whether an assistant belongs to a graph. Every user sees it.
func (s *Server) system(r *runs.Record) bool {
	g := s.graphs[r.Graph]
	return g != nil && g.assistant == r.ID
}

// assistantOf returns the assistant with an id, or the assistant of the graph with this name. It returns an error if the
// user may not do the action.
func (c *call) assistantOf(action Action, id string) (runs.Record, error) {
	if g := c.s.graphs[id]; g != nil {
		id = g.assistant
	} else if !isUUID(id) {
		return runs.Record{}, invalid("There is no assistant or graph %q.", shortened(id))
	}
	var err error
	if c.filter, err = c.allow(Access{Resource: ResourceAssistants, Action: action, ID: id}); err != nil {
		return runs.Record{}, err
	}
	r, err := c.s.o.Runs.Get(c.ctx(), runs.Assistant, id)
	if errors.Is(err, runs.ErrNotFound) || err == nil && !c.filter.has(&r) && !c.s.system(&r) {
		return r, notFound("assistant", id)
	}
	if err == nil && c.s.graphs[r.Graph] == nil {
		return r, notFound("graph", r.Graph)
	}
	return r, err
}

// pathAssistant returns the assistant whose UUID is in the path. Its paths do not accept the name of a graph.
func (c *call) pathAssistant() (runs.Record, error) {
	if _, err := c.id("assistant"); err != nil {
		return runs.Record{}, err
	}
	return c.assistantOf(c.action, c.r.PathValue("assistant"))
}

type assistantBody struct {
	ID          string          `json:"assistant_id"`
	Graph       string          `json:"graph_id"`
	Config      json.RawMessage `json:"config"`
	Context     json.RawMessage `json:"context"`
	Metadata    json.RawMessage `json:"metadata"`
	IfExists    string          `json:"if_exists"`
	Name        *string         `json:"name"`
	Description *string         `json:"description"`
}

func (b *assistantBody) check() error {
	return errors.Join(object("config", b.Config), object("context", b.Context), object("metadata", b.Metadata))
}

// configure sets the configuration of an assistant. If only one of the context and config.configurable has values, the
// other one gets the same values.
func (d *assistantData) configure(config, ctx json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(orEmpty(config), &fields); err != nil {
		return err
	}
	configurable := orEmpty(fields["configurable"])
	switch {
	case string(configurable) == "{}" && string(orEmpty(ctx)) != "{}":
		fields["configurable"] = ctx
	case string(orEmpty(ctx)) == "{}" && string(configurable) != "{}":
		ctx = configurable
	}
	d.Config, d.Context = encoded(fields), orEmpty(ctx)
	if fields == nil {
		d.Config = emptyObject
	}
	return nil
}

func (c *call) createAssistant() error {
	var b assistantBody
	if err := c.body(&b, true); err != nil {
		return err
	}
	if err := b.check(); err != nil {
		return err
	}
	switch {
	case b.Graph == "":
		return invalid("graph_id is missing.")
	case c.s.graphs[b.Graph] == nil:
		return notFound("graph", b.Graph)
	case b.ID == "":
		b.ID = uuid.New()
	case !isUUID(b.ID):
		return invalid("assistant_id is %q; it must be a UUID.", shortened(b.ID))
	}
	at, d := now(), assistantData{Description: b.Description, Version: 1, Last: 1}
	if err := d.configure(b.Config, b.Context); err != nil {
		return invalid("The configuration cannot be read: %v.", err)
	}
	r := runs.Record{
		Kind: runs.Assistant, ID: b.ID, Graph: b.Graph, Name: b.Graph, Created: at, Updated: at,
		Metadata: orEmpty(b.Metadata), Data: encoded(d),
	}
	if b.Name != nil {
		r.Name = *b.Name
	}
	f, err := c.allow(Access{Resource: ResourceAssistants, Action: ActionCreate, Graph: b.Graph})
	if err == nil {
		err = f.stamp(&r, c.user)
	}
	if err != nil {
		return err
	}
	err = c.s.o.Runs.Insert(c.ctx(), r, versionOf(r, 1))
	if errors.Is(err, runs.ErrExists) {
		if b.IfExists != "do_nothing" {
			return refuse(http.StatusConflict, "The assistant %s exists.", b.ID)
		}
		r, err = c.getFor(ActionRead, runs.Assistant, b.ID)
	}
	if err != nil {
		return err
	}
	return c.sendAssistant(r)
}

func (c *call) sendAssistant(r runs.Record) error {
	a, _, err := readAssistant(r)
	if err != nil {
		return err
	}
	return c.send(a)
}

func (c *call) getAssistant() error {
	r, err := c.pathAssistant()
	if err != nil {
		return err
	}
	return c.sendAssistant(r)
}

func (c *call) patchAssistant() error {
	r, err := c.pathAssistant()
	if err != nil {
		return err
	}
	var b assistantBody
	if err := errors.Join(c.body(&b, true), b.check()); err != nil {
		return err
	}
	if c.s.system(&r) {
		return refuse(http.StatusForbidden, "The assistant of a graph belongs to the server.")
	}
	if b.Graph != "" && c.s.graphs[b.Graph] == nil {
		return notFound("graph", b.Graph)
	}
	f := c.filter
	r, err = c.s.change(c.ctx(), runs.Assistant, r.ID, func(r *runs.Record) error { return cmp.Or(b.apply(r), f.keep(r)) })
	if err != nil {
		return err
	}
	_, d, err := readAssistant(r)
	if err == nil {
		err = c.s.o.Runs.Insert(c.ctx(), versionOf(r, d.Version))
	}
	if err != nil {
		return err
	}
	return c.sendAssistant(r)
}

// apply makes a new version of an assistant.
func (b *assistantBody) apply(r *runs.Record) error {
	_, d, err := readAssistant(*r)
	if err != nil {
		return err
	}
	d.Last++
	d.Version, r.Updated = d.Last, now()
	if b.Graph != "" {
		r.Graph = b.Graph
	}
	if b.Name != nil {
		r.Name = *b.Name
	}
	if b.Description != nil {
		d.Description = b.Description
	}
	if len(b.Config) > 0 || len(b.Context) > 0 {
		if err := d.configure(b.Config, b.Context); err != nil {
			return invalid("The configuration cannot be read: %v.", err)
		}
	}
	if r.Metadata, err = merged(r.Metadata, orEmpty(b.Metadata)); err != nil {
		return err
	}
	r.Data = encoded(d)
	return nil
}

func (c *call) deleteAssistant() error {
	r, err := c.pathAssistant()
	if err != nil {
		return err
	}
	if c.s.system(&r) {
		return refuse(http.StatusForbidden, "The assistant of a graph cannot be deleted.")
	}
	if c.flag("delete_threads") {
		if err := c.deleteThreadsOf(r.ID); err != nil {
			return err
		}
	}
	if err := c.s.o.Runs.Delete(c.ctx(), runs.Assistant, r.ID); err != nil {
		return err
	}
	return c.sendNothing()
}

// deleteThreadsOf deletes the threads whose last run was of an assistant.
func (c *call) deleteThreadsOf(assistant string) error {
	f, err := c.allow(Access{Resource: ResourceThreads, Action: ActionDelete})
	if err != nil {
		return err
	}
	q := runs.Query{Kind: runs.Thread, Metadata: encoded(map[string]string{"assistant_id": assistant}), Filter: f.stored()}
	threads, _, err := c.s.o.Runs.Search(c.ctx(), q)
	for _, t := range threads {
		err = errors.Join(err, c.s.deleteThread(c.ctx(), t.ID, t.Owner))
	}
	return err
}

var assistantOrders = map[string]runs.Order{
	"assistant_id": runs.ByID, "graph_id": runs.ByGraph, "name": runs.ByName, "created_at": runs.ByCreated, "updated_at": runs.ByUpdated,
}

type assistantSearch struct {
	page
	Metadata json.RawMessage `json:"metadata"`
	Graph    string          `json:"graph_id"`
	Name     string          `json:"name"`
}

func (c *call) assistantQuery() (assistantSearch, runs.Query, error) {
	var b assistantSearch
	if err := c.body(&b, false); err != nil {
		return b, runs.Query{}, err
	}
	q := runs.Query{Kind: runs.Assistant, Graph: b.Graph, Name: b.Name, Metadata: orEmpty(b.Metadata)}
	if err := object("metadata", b.Metadata); err != nil {
		return b, q, err
	}
	return b, q, b.query(&q, assistantOrders)
}

// searchAssistants sends the assistants that a query finds.
func (c *call) searchAssistants() error {
	b, q, err := c.assistantQuery()
	if err != nil {
		return err
	}
	found, total, err := c.visibleAssistants(q)
	if err != nil {
		return err
	}
	out := []any{}
	for _, r := range found {
		a, _, err := readAssistant(r)
		if err != nil {
			return err
		}
		v, err := chosen(a, b.Select)
		if err != nil {
			return err
		}
		out = append(out, v)
	}
	b.headers(c, q, total, len(out))
	return c.send(out)
}

// visibleAssistants returns the page of the assistants that the user may see. They include the assistants of the
// graphs, which have no owner.
func (c *call) visibleAssistants(q runs.Query) ([]runs.Record, int, error) {
	var system []string
	for _, g := range c.s.graphs {
		system = append(system, g.assistant)
	}
	return c.search(q, system...)
}

func (c *call) countAssistants() error {
	_, q, err := c.assistantQuery()
	if err != nil {
		return err
	}
	_, total, err := c.visibleAssistants(q)
	if err != nil {
		return err
	}
	return c.send(total)
}
