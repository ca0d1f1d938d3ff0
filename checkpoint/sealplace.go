package checkpoint

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// The kinds of encrypted values. The numbers are part of the additional data, so
// they must not change.
const (
	sealedControl = iota + 1
	sealedChange
	sealedSnapshot
	sealedWrite
	sealedChangeLink
	sealedSnapshotLink
)

// A place identifies an encrypted value: its checkpoint, its kind and its position. The
// additional data of the frame is made from it, so a frame that was moved cannot be
// decrypted.
type place struct {
	form    byte
	key     Key
	what    byte
	channel string
	kind    uint8
	task    string
	index   int // the index of a write, or of a change in its list
	count   int // the length of the list of changes

	// Only form 2 uses the following fields.
	source Source
	digest digest      // for changes
	header *Checkpoint // for Control: run, version, step and metadata
}

// additional returns the additional data of the frame. A length precedes every text, so
// different places have different additional data.
func (p *place) additional() []byte {
	b := make([]byte, 0, 192+len(p.key.Thread)+len(p.key.Namespace)+len(p.key.ID)+len(p.channel)+len(p.task))
	if p.form == sealBound {
		b = append(b, p.form)
	}
	b = append(b, p.what, p.kind)
	for _, text := range [...]string{p.key.Thread, p.key.Namespace, p.key.ID, p.channel, p.task} {
		b = appendText(b, text)
	}
	b = binary.AppendVarint(b, int64(p.index))
	b = binary.AppendVarint(b, int64(p.count))
	if p.form != sealBound {
		return b
	}
	b = append(appendText(b, string(p.source)), p.digest[:]...)
	if p.header != nil {
		b = appendFacts(b, p.header)
	}
	return b
}

// appendFacts appends the step, run, version and metadata of a checkpoint.
func appendFacts(b []byte, c *Checkpoint) []byte {
	b = binary.AppendVarint(b, int64(c.Step))
	b = appendText(b, c.Run)
	b = appendText(b, c.Version)
	b = binary.AppendUvarint(b, uint64(len(c.Metadata)))
	for _, name := range slices.Sorted(maps.Keys(c.Metadata)) {
		b = appendText(b, name)
		b = appendText(b, c.Metadata[name])
	}
	return b
}

func (p *place) String() string {
	at := keyText(p.key)
	switch p.what {
	case sealedControl:
		return at + ", control"
	case sealedWrite:
		return fmt.Sprintf("%s, write %d of task %q to channel %q", at, p.index, p.task, p.channel)
	case sealedChangeLink:
		return at + ", changes"
	case sealedSnapshotLink:
		return at + ", snapshot"
	default:
		return fmt.Sprintf("%s, channel %q", at, p.channel)
	}
}

// altered returns an [ErrDecrypt] that names the place.
func (p *place) altered(format string, args ...any) error {
	return fmt.Errorf("checkpoint: %s: %s: %w", p, fmt.Sprintf(format, args...), ErrDecrypt)
}

func keyText(k Key) string {
	return fmt.Sprintf("thread %q, namespace %q, checkpoint %q", k.Thread, k.Namespace, k.ID)
}

// altered returns an [ErrDecrypt] that names the checkpoint.
func altered(k Key, format string, args ...any) error {
	return fmt.Errorf("checkpoint: %s: %s: %w", keyText(k), fmt.Sprintf(format, args...), ErrDecrypt)
}
