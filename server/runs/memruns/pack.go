package memruns

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A packer writes values one after the other. One string with all fields takes much less memory
// than a struct that points to them.
type packer []byte

func (p *packer) int(n int64) { *p = binary.AppendVarint(*p, n) }

func (p *packer) text(s string) {
	p.int(int64(len(s)))
	*p = append(*p, s...)
}

func (p *packer) json(data json.RawMessage) {
	if data == nil {
		p.int(-1)
		return
	}
	p.int(int64(len(data)))
	*p = append(*p, data...)
}

func (p *packer) time(t time.Time) {
	p.int(t.Unix())
	p.int(int64(t.Nanosecond()))
}

// An unpacker reads what a packer has written. The texts share memory with its string.
type unpacker struct{ rest string }

func (u *unpacker) int() int64 {
	n := uint64(0)
	for shift := 0; ; shift += 7 {
		b := u.rest[0]
		u.rest = u.rest[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(n>>1) ^ -int64(n&1)
		}
	}
}

func (u *unpacker) text() string {
	n := u.int()
	s := u.rest[:n]
	u.rest = u.rest[n:]
	return s
}

func (u *unpacker) time() time.Time {
	seconds := u.int()
	return time.Unix(seconds, u.int()).UTC()
}

// json returns JSON as a text, and whether it is not nil.
func (u *unpacker) json() (data string, ok bool) {
	n := u.int()
	if n < 0 {
		return "", false
	}
	data, u.rest = u.rest[:n], u.rest[n:]
	return data, true
}

// bytes returns a copy of JSON.
func (u *unpacker) bytes() json.RawMessage {
	if data, ok := u.json(); ok {
		return json.RawMessage(data)
	}
	return nil
}

// packRecord returns a record as one string.
func packRecord(r *runs.Record) string {
	p := make(packer, 0, 256+len(r.Metadata)+len(r.Data))
	for _, s := range [...]string{r.ID, r.Parent, r.Owner, r.Graph, r.Name, r.Status} {
		p.text(s)
	}
	p.time(r.Created)
	p.time(r.Updated)
	p.time(r.Expires)
	p.int(r.Revision)
	p.json(r.Metadata)
	p.json(r.Data)
	return string(p)
}

// unpackRecord returns a record without its JSON, which is the rest.
func unpackRecord(kind runs.Kind, packed string) (r runs.Record, rest unpacker) {
	u := unpacker{packed}
	r.Kind = kind
	for _, s := range [...]*string{&r.ID, &r.Parent, &r.Owner, &r.Graph, &r.Name, &r.Status} {
		*s = u.text()
	}
	r.Created, r.Updated, r.Expires = u.time(), u.time(), u.time()
	r.Revision = u.int()
	return r, u
}

// packEvents returns events as bytes that compress well.
func packEvents(events []runs.Event) []byte {
	size := 0
	for i := range events {
		size += 256 + len(events[i].Data)
	}
	p := make(packer, 0, size)
	for i := range events {
		e := &events[i]
		p.int(e.Seq)
		p.time(e.Time)
		p.int(int64(e.Step))
		for _, s := range [...]string{e.Run, e.Kind, e.Path, e.Node, e.Task} {
			p.text(s)
		}
		p.json(e.Data)
	}
	return p
}

// unpackEvents returns the events of packEvents.
func unpackEvents(packed string, n int) []runs.Event {
	u := unpacker{packed}
	events := make([]runs.Event, n)
	for i := range events {
		e := &events[i]
		e.Seq, e.Time, e.Step = u.int(), u.time(), int(u.int())
		for _, s := range [...]*string{&e.Run, &e.Kind, &e.Path, &e.Node, &e.Task} {
			*s = u.text()
		}
		e.Data = u.bytes()
	}
	return events
}

// packTask returns a task as one string.
func packTask(t *runs.Task) string {
	p := make(packer, 0, 128+len(t.Data))
	p.text(t.ID)
	p.text(t.Checkpoint)
	p.json(t.Data)
	return string(p)
}

// unpackTask returns a task without its JSON, which is the rest.
func unpackTask(packed string) (t runs.Task, rest unpacker) {
	u := unpacker{packed}
	t.ID, t.Checkpoint = u.text(), u.text()
	return t, u
}
