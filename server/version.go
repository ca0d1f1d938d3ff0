package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/weft-go/weft/server/runs"
)

// versionOf returns the record of a version of an assistant.
func versionOf(r runs.Record, version int) runs.Record {
	r.Kind, r.Parent, r.ID = runs.Version, r.ID, fmt.Sprintf("%s/%d", r.ID, version)
	return r
}

func (c *call) listVersions() error {
	r, err := c.pathAssistant()
	if err != nil {
		return err
	}
	var b assistantSearch
	if err := c.body(&b, false); err != nil {
		return err
	}
	q := runs.Query{Kind: runs.Version, Parent: r.ID, Metadata: orEmpty(b.Metadata)}
	if err := b.query(&q, assistantOrders); err != nil {
		return err
	}
	q.Order, q.Reverse = runs.ByUpdated, true
	found, _, err := c.s.o.Runs.Search(c.ctx(), q)
	if err != nil {
		return err
	}
	out := []assistant{}
	for _, v := range found {
		a, _, err := readAssistant(v)
		if err != nil {
			return err
		}
		a.ID = r.ID
		out = append(out, a)
	}
	return c.send(out)
}

// setLatest makes an older version the current one. If the older version has no context, the current context stays, as
// with the reference server.
func (c *call) setLatest() error {
	r, err := c.pathAssistant()
	if err != nil {
		return err
	}
	var b struct {
		Version int `json:"version"`
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	if c.s.system(&r) {
		return refuse(http.StatusForbidden, "The assistant of a graph belongs to the server.")
	}
	v, err := c.s.o.Runs.Get(c.ctx(), runs.Version, fmt.Sprintf("%s/%d", r.ID, b.Version))
	if errors.Is(err, runs.ErrNotFound) {
		return notFound("version", fmt.Sprint(b.Version))
	}
	if err != nil {
		return err
	}
	f := c.filter
	_, old, err := readAssistant(v)
	if err != nil {
		return err
	}
	r, err = c.s.change(c.ctx(), runs.Assistant, r.ID, func(r *runs.Record) error {
		_, d, err := readAssistant(*r)
		if err != nil {
			return err
		}
		if old.Last = d.Last; string(orEmpty(old.Context)) == "{}" {
			old.Context = d.Context
		}
		r.Graph, r.Name, r.Metadata, r.Updated, r.Data = v.Graph, v.Name, v.Metadata, now(), encoded(old)
		return f.keep(r)
	})
	if err != nil {
		return err
	}
	return c.sendAssistant(r)
}
