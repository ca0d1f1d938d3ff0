package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"time"
)

// A digest identifies the content of a checkpoint. All frames of a checkpoint contain its
// digest. So the frames of an earlier checkpoint with the same id cannot replace them.
// A digest does not depend on keys, nonces or the parent: storing the same checkpoint
// again yields the same digest.
type digest [16]byte

func digestOf(c *Checkpoint) digest {
	h := contentHash{Hash: sha256.New(), buffer: make([]byte, 0, 256)}
	for _, text := range [...]string{c.Thread, c.Namespace, c.ID, string(c.Source)} {
		h.buffer = appendText(h.buffer, text)
	}
	h.buffer = appendFacts(h.buffer, c)
	h.add(c.Control)
	h.addChanges(c.Changes)
	h.addChanges(c.Snapshot)
	h.flush()
	return digest(h.Sum(h.buffer)[:len(digest{})])
}

// A contentHash collects short parts in a buffer, because hashing a few large parts is
// faster than hashing many small parts.
type contentHash struct {
	hash.Hash
	buffer []byte
}

func (h *contentHash) flush() {
	h.Write(h.buffer)
	h.buffer = h.buffer[:0]
}

// add adds data with its length.
func (h *contentHash) add(data []byte) {
	h.buffer = binary.AppendUvarint(h.buffer, uint64(len(data)))
	h.flush()
	h.Write(data)
}

func (h *contentHash) addChanges(list []Change) {
	h.buffer = appendCount(h.buffer, len(list), list == nil)
	for i := range list {
		c := &list[i]
		h.buffer = append(appendText(h.buffer, c.Channel), c.Kind)
		h.add(c.Data)
	}
}

// A binding connects the frames of one checkpoint with each other and with the
// parent. It is encrypted in Control, and at the end of each list of changes.
type binding struct {
	digest digest
	// parent is the id of the parent at the time of the Put. After the inner store has
	// removed this parent, it reports an older ancestor.
	parent string
	// parentDigest is nil if the parent had frames of form 1 or does not exist.
	parentDigest *digest
	snapshot     bool // the checkpoint has a snapshot
	noChanges    bool // the list of changes is nil; used only in links
	time         time.Time
}

// The flags of a stored binding.
const (
	bindsSnapshot = 1 << iota
	bindsNoChanges
	bindsParentDigest
	bindsTime
	bindsUnknown
)

func (b *binding) append(dst []byte) []byte {
	var flags byte
	if b.snapshot {
		flags |= bindsSnapshot
	}
	if b.noChanges {
		flags |= bindsNoChanges
	}
	if b.parentDigest != nil {
		flags |= bindsParentDigest
	}
	if !b.time.IsZero() {
		flags |= bindsTime
	}
	dst = append(append(dst, flags), b.digest[:]...)
	dst = appendText(dst, b.parent)
	if b.parentDigest != nil {
		dst = append(dst, b.parentDigest[:]...)
	}
	if !b.time.IsZero() {
		dst = binary.AppendVarint(dst, b.time.UnixNano())
	}
	return dst
}

// parseBinding parses the binding at the start of data. It also returns the remaining
// bytes. It returns false if data does not begin with a binding.
func parseBinding(data []byte) (*binding, []byte, bool) {
	r := &frameReader{rest: data}
	flags := r.byte()
	b := &binding{snapshot: flags&bindsSnapshot != 0, noChanges: flags&bindsNoChanges != 0}
	copy(b.digest[:], r.bytes(len(b.digest)))
	b.parent = string(r.text())
	if flags&bindsParentDigest != 0 {
		b.parentDigest = &digest{}
		copy(b.parentDigest[:], r.bytes(len(b.parentDigest)))
	}
	if flags&bindsTime != 0 {
		nanos, n := binary.Varint(r.rest)
		if n <= 0 {
			return nil, nil, false
		}
		b.time, r.rest = time.Unix(0, nanos), r.rest[n:]
	}
	return b, r.rest, !r.failed && flags < bindsUnknown
}

// mustMatch returns an [ErrDecrypt] if two bindings belong to different checkpoints.
func (b *binding) mustMatch(control *binding, k Key) error {
	switch {
	case b == nil && control == nil:
		return nil
	case b == nil || control == nil:
		return altered(k, "its control and its changes have different forms of encryption; one of them was exchanged or removed")
	case b.digest != control.digest || b.parent != control.parent || b.snapshot != control.snapshot:
		return altered(k, "its control and its changes are of different checkpoints")
	}
	return nil
}

// A chain checks that each part of a lineage follows the part before it. A part of form 2
// names its parent and, unless the parent has form 1, the parent's digest.
type chain struct {
	of    Key
	begun bool
	prev  string
	bound *binding // the binding of prev; nil for form 1
}

func (l *chain) add(d *Delta, b *binding) error {
	k := l.of
	k.ID = d.ID
	switch {
	case b == nil && l.bound != nil:
		return altered(k, "its encryption is of the old form 1, and that of its ancestor %q is not", l.prev)
	case b == nil:
	case d.Snapshot != b.snapshot:
		return altered(k, "its snapshot was added or removed")
	case !l.begun && !d.Snapshot && b.parent != "":
		return altered(k, "its ancestor %q is missing from the lineage of %q", b.parent, l.of.ID)
	case l.begun && b.parent != l.prev:
		return altered(k, "its ancestor %q is missing from the lineage of %q, or was exchanged for %q", b.parent, l.of.ID, l.prev)
	case l.begun && b.parentDigest != nil && (l.bound == nil || l.bound.digest != *b.parentDigest):
		return altered(k, "its ancestor %q was exchanged", l.prev)
	}
	l.begun, l.prev, l.bound = true, d.ID, b
	return nil
}

// checkAncestor returns an [ErrDecrypt] if the reported parent is not in the lineage. It
// cannot check a parent that is older than the snapshot at which the lineage begins.
func checkAncestor(c *Checkpoint, b *binding, reported string) error {
	inLineage := func(d Delta) bool { return d.ID == reported && d.ID != c.ID }
	if reported == b.parent || c.Lineage[0].Snapshot || reported == "" || slices.ContainsFunc(c.Lineage, inLineage) {
		return nil
	}
	return altered(c.Key, "its parent was altered from %q to %q, which is not in its lineage", b.parent, reported)
}

// appendNextWrite appends the task and index of the next write. The data of a pending
// write of form 2 begins with them: each write of a PutWrites names the next, and the last
// names the first. So a missing write is detected.
func appendNextWrite(dst []byte, next *Write) []byte {
	return binary.AppendVarint(appendText(dst, next.Task), int64(next.Index))
}

// parseNextWrite parses the task and index of the next write. It also returns the data of
// the write. It returns false if b does not begin with a task and an index.
func parseNextWrite(b []byte) (next writeID, data []byte, ok bool) {
	r := &frameReader{rest: b}
	next.task = string(r.text())
	index, n := binary.Varint(r.rest)
	if r.failed || n <= 0 {
		return writeID{}, nil, false
	}
	next.index = int(index)
	return next, r.rest[n:], true
}

// A writeID identifies a pending write of a checkpoint.
type writeID struct {
	task  string
	index int
}
