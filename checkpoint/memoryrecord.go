package checkpoint

import (
	"encoding/binary"
	"maps"
	"time"

	"github.com/weft-go/weft/internal/uuid"
)

// A record is: flags; as a varint the number of what it shares; the id; the
// source, unless the flags tell it; as varints the distance to its parent (zero
// for none), the step, and the nanoseconds since the first record; Control; the
// snapshot; the changes. A count of n is written as n+1, and nil as zero.
const (
	recordPacked   = 1 << iota // the id is a UUID in 16 bytes, else text
	recordCounted              // the id is a varint: how far it counts on from that of its run
	recordSnapshot             // there is a snapshot
	recordSource               // the first of the bits that tell the source
)

// recordSources are the sources that flags tell, by number; the number after
// them says that text follows.
var recordSources = [...]Source{Input, Loop, Edited, Fork}

// How Control is told: nil, by its bytes, or by the number of a mark.
const (
	controlNil = iota
	controlBytes
	controlMark
)

// recordBound is no less than the size of the record of c.
func recordBound(c *Checkpoint) int {
	n := 64 + len(c.ID) + len(c.Source) + len(c.Control)
	for i := range c.Changes {
		n += len(c.Changes[i].Data) + 12
	}
	if c.Snapshot != nil {
		n += 10
	}
	for i := range c.Snapshot {
		n += len(c.Snapshot[i].Data) + 12
	}
	return n
}

func (l *memoryLog) appendRecord(b []byte, c *Checkpoint, s *memorySpace, i int, p *memoryPlace) []byte {
	start := len(b)
	source := sourceNumber(c.Source)
	flags := byte(source) * recordSource
	n, counted := l.shared[s.shared].counted(&p.id)
	if counted {
		flags |= recordCounted
	} else if p.id.packed {
		flags |= recordPacked
	}
	if c.Snapshot != nil {
		flags |= recordSnapshot
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, s.shared)
	switch {
	case counted:
		b = binary.AppendUvarint(b, n)
	case p.id.packed:
		b = append(b, p.id.uuid[:]...)
	default:
		b = appendText(b, c.ID)
	}
	if source == len(recordSources) {
		b = appendText(b, string(c.Source))
	}
	distance := 0
	if p.parent >= 0 {
		distance = i - p.parent
	}
	b = binary.AppendUvarint(b, uint64(distance))
	b = binary.AppendVarint(b, int64(c.Step))
	b = binary.AppendUvarint(b, uint64(p.at))
	b = l.appendControl(b, c.Control, start)
	if c.Snapshot != nil {
		b = l.appendChanges(b, c.Snapshot)
	}
	return l.appendChanges(b, c.Changes)
}

func sourceNumber(s Source) int {
	for i, known := range recordSources {
		if s == known {
			return i
		}
	}
	return len(recordSources)
}

// appendControl also notes where in the record, which begins at start, it tells
// a value of Control by its bytes.
func (l *memoryLog) appendControl(b, control []byte, start int) []byte {
	l.told = 0
	if control == nil {
		return append(b, controlNil)
	}
	if n, ok := l.marked(control); ok {
		return append(b, controlMark+byte(n))
	}
	b = append(b, controlBytes)
	b = binary.AppendUvarint(b, uint64(len(control)))
	l.told = len(b) - start
	return append(b, control...)
}

func (l *memoryLog) appendChanges(b []byte, changes []Change) []byte {
	b = appendCount(b, len(changes), changes == nil)
	for i := range changes {
		c := &changes[i]
		b = binary.AppendUvarint(b, l.text(c.Channel))
		b = append(b, c.Kind)
		b = appendCount(b, len(c.Data), c.Data == nil)
		b = append(b, c.Data...)
	}
	return b
}

// A memoryHeader is a record without its values, which rest holds.
type memoryHeader struct {
	flags  byte
	uuid   [16]byte // of the id, unless that is text
	text   []byte
	source Source
	shared uint64
	parent int // index, -1 for none
	step   int
	at     int64
	rest   []byte
}

func (v *memoryView) header(i int) memoryHeader {
	ref := v.refs[i]
	b := v.chunks[ref.chunk][ref.offset:]
	h := memoryHeader{flags: b[0]}
	h.shared, b = takeUvarint(b[1:])
	switch {
	case h.flags&recordCounted != 0:
		var n uint64
		n, b = takeUvarint(b)
		h.uuid = v.shared[h.shared].count(n)
	case h.flags&recordPacked != 0:
		h.uuid, b = [16]byte(b[:16]), b[16:]
	default:
		h.text, b = takeBytes(b)
	}
	if n := int(h.flags / recordSource); n < len(recordSources) {
		h.source = recordSources[n]
	} else {
		var text []byte
		text, b = takeBytes(b)
		h.source = Source(text)
	}
	var distance, at uint64
	distance, b = takeUvarint(b)
	h.parent = i - int(distance)
	if distance == 0 {
		h.parent = -1
	}
	step, n := binary.Varint(b)
	h.step = int(step)
	at, h.rest = takeUvarint(b[n:])
	h.at = int64(at)
	return h
}

func (h *memoryHeader) idText() string {
	if h.flags&(recordPacked|recordCounted) != 0 {
		return uuid.Unpack(h.uuid)
	}
	return string(h.text)
}

func (v *memoryView) hasID(i int, id *memoryID) bool {
	h := v.header(i)
	if h.flags&(recordPacked|recordCounted) == 0 {
		return string(h.text) == id.text
	}
	return id.packed && h.uuid == id.uuid
}

// parentID is empty when the record has no parent.
func (v *memoryView) parentID(i int) string {
	p := v.header(i).parent
	if p < 0 {
		return ""
	}
	h := v.header(p)
	return h.idText()
}

// checkpoint returns what List yields of a record.
func (v *memoryView) checkpoint(thread string, i int) Checkpoint {
	h := v.header(i)
	shared := &v.shared[h.shared]
	control, _ := v.control(h.rest)
	return Checkpoint{
		Key:      Key{Thread: thread, Namespace: shared.space.name, ID: h.idText()},
		Parent:   v.parentID(i),
		Step:     h.step,
		Source:   h.source,
		Run:      shared.runID(),
		Version:  shared.label().version,
		Metadata: maps.Clone(shared.label().metadata),
		Control:  cloneBytes(control),
		Time:     v.time(h.at),
	}
}

func (v *memoryView) time(at int64) time.Time { return time.Unix(0, v.created+at) }

// newest returns the newest record before the given one that the query asks
// for, or -1.
func (v *memoryView) newest(q *Query, before int) int {
	for i := before - 1; i >= 0; i-- {
		h := v.header(i)
		if v.matches(q, &h) {
			return i
		}
	}
	return -1
}

func (v *memoryView) matches(q *Query, h *memoryHeader) bool {
	shared := &v.shared[h.shared]
	if !q.AllNamespaces && shared.space.name != q.Namespace ||
		q.Source != "" && h.source != q.Source ||
		q.Run != "" && shared.runID() != q.Run ||
		q.Step != nil && h.step != *q.Step {
		return false
	}
	for k, want := range q.Metadata {
		if got, ok := shared.label().metadata[k]; !ok || got != want {
			return false
		}
	}
	return true
}

// control returns a part of the log, and what follows it.
func (v *memoryView) control(b []byte) (control, rest []byte) {
	switch kind := b[0]; kind {
	case controlNil:
		return nil, b[1:]
	case controlBytes:
		return takeBytes(b[1:])
	default:
		return v.marks[kind-controlMark].of(v), b[1:]
	}
}

func takeUvarint(b []byte) (uint64, []byte) {
	n, size := binary.Uvarint(b)
	return n, b[size:]
}

func takeBytes(b []byte) (taken, rest []byte) {
	n, b := takeUvarint(b)
	return b[:n:n], b[n:]
}

// cloneBytes keeps apart nil and empty.
func cloneBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}
