package memruns

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A packer writes values one after the other. A string with all fields takes much less memory than a struct with pointers
// to them.
type packer []byte

func (p *packer) int(n int64) { *p = binary.AppendVarint(*p, n) }

func (p *packer) text(s string) {
	p.int(int64(len(s)))
	*p = append(*p, s...)
}

// none writes the mark for a text that is absent.
func (p *packer) none() { p.int(-1) }

func (p *packer) json(data json.RawMessage) {
	if data == nil {
		p.none()
		return
	}
	p.int(int64(len(data)))
	*p = append(*p, data...)
}

func (p *packer) time(t time.Time) {
	p.int(t.Unix())
	p.int(int64(t.Nanosecond()))
}

// An unpacker reads the values that a packer has written. Its texts share memory with its string.
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

// optional returns a text, and whether there is one.
func (u *unpacker) optional() (s string, ok bool) {
	n := u.int()
	if n < 0 {
		return "", false
	}
	s, u.rest = u.rest[:n], u.rest[n:]
	return s, true
}

// bytes returns a copy of JSON.
func (u *unpacker) bytes() json.RawMessage {
	if data, ok := u.optional(); ok {
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

// unpackRecord returns a record without Metadata and Data. The rest contains them.
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

// packEvent appends an event to packed events. It leaves out the texts that are the same as in the previous event.
func packEvent(packed []byte, e, before *runs.Event) []byte {
	p := packer(packed)
	p.int(e.Seq - before.Seq)
	p.int(e.Time.UnixMicro() - before.Time.UnixMicro())
	p.int(int64(e.Time.Nanosecond() % 1000))
	p.int(int64(e.Step))
	old := eventTexts(before)
	for i, s := range eventTexts(e) {
		if *s == *old[i] {
			p.none()
		} else {
			p.text(*s)
		}
	}
	p.json(e.Data)
	return p
}

func eventTexts(e *runs.Event) [5]*string {
	return [...]*string{&e.Run, &e.Kind, &e.Path, &e.Node, &e.Task}
}

// unpackEvents returns n events that packEvent has packed one after the other.
func unpackEvents(packed string, n int) []runs.Event {
	u := unpacker{packed}
	events := make([]runs.Event, n)
	before := &runs.Event{}
	for i := range events {
		e := &events[i]
		e.Seq = before.Seq + u.int()
		e.Time = time.UnixMicro(before.Time.UnixMicro() + u.int()).Add(time.Duration(u.int())).UTC()
		e.Step = int(u.int())
		old := eventTexts(before)
		for i, s := range eventTexts(e) {
			if text, ok := u.optional(); ok {
				*s = text
			} else {
				*s = *old[i]
			}
		}
		e.Data = u.bytes()
		before = e
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

// unpackTask returns a task without its Data. The rest contains it.
func unpackTask(packed string) (t runs.Task, rest unpacker) {
	u := unpacker{packed}
	t.ID, t.Checkpoint = u.text(), u.text()
	return t, u
}
