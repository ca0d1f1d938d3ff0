package checkpoint

import (
	"encoding/binary"
	"fmt"
)

// A sealed value is: sealFormat; the length of the key's id; the id; a random
// nonce of 12 bytes; the ciphertext; a tag of 16 bytes.
const (
	sealFormat = 0x01
	sealHeader = 2
)

// What a sealed value is. The numbers are part of the additional data, and do
// not change.
const (
	sealedControl = iota + 1
	sealedChange
	sealedSnapshot
	sealedWrite
)

// A place is where a value belongs. It is the additional data of the value, so
// that what was moved elsewhere can not be decrypted.
type place struct {
	key     Key
	what    byte
	channel string
	kind    uint8
	task    string
	index   int // of a write, or among the changes
	count   int // of the changes
}

// bind returns the additional data. Every text comes after its length, so that no
// two places have the same.
func (p *place) bind() []byte {
	b := make([]byte, 0, 64+len(p.key.Thread)+len(p.key.Namespace)+len(p.key.ID)+len(p.channel)+len(p.task))
	b = append(b, p.what, p.kind)
	for _, text := range [...]string{p.key.Thread, p.key.Namespace, p.key.ID, p.channel, p.task} {
		b = appendText(b, text)
	}
	b = binary.AppendVarint(b, int64(p.index))
	return binary.AppendVarint(b, int64(p.count))
}

func (p *place) String() string {
	at := fmt.Sprintf("thread %q, namespace %q, checkpoint %q", p.key.Thread, p.key.Namespace, p.key.ID)
	switch p.what {
	case sealedControl:
		return at + ", control"
	case sealedWrite:
		return fmt.Sprintf("%s, write %d of task %q to channel %q", at, p.index, p.task, p.channel)
	default:
		return fmt.Sprintf("%s, channel %q", at, p.channel)
	}
}

func (s *sealer) seal(data []byte, p *place) []byte {
	key := s.keys[s.active]
	b := make([]byte, 0, sealHeader+len(s.active)+len(data)+key.Overhead())
	b = append(b, sealFormat, byte(len(s.active)))
	b = append(b, s.active...)
	return key.Seal(b, nil, data, p.bind())
}

// open returns data of its own.
func (s *sealer) open(sealed []byte, p *place) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, fmt.Errorf("checkpoint: %s: empty: %w", p, ErrDecrypt)
	}
	if sealed[0] != sealFormat {
		return nil, fmt.Errorf("checkpoint: %s: encryption of format %d: %w", p, sealed[0], ErrFormat)
	}
	if len(sealed) < sealHeader || len(sealed) < sealHeader+int(sealed[1]) {
		return nil, fmt.Errorf("checkpoint: %s: %d bytes: %w", p, len(sealed), ErrDecrypt)
	}
	id, rest := string(sealed[sealHeader:sealHeader+int(sealed[1])]), sealed[sealHeader+int(sealed[1]):]
	key := s.keys[id]
	if key == nil {
		return nil, fmt.Errorf("checkpoint: %s: key %q is not in the ring: %w", p, id, ErrDecrypt)
	}
	data, err := key.Open([]byte{}, nil, rest, p.bind())
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: key %q does not fit, or the data was altered or moved: %w", p, id, ErrDecrypt)
	}
	return data, nil
}

// changes seals or opens each change, whose place also says where in the list it
// stands.
func (s *sealer) changes(k Key, what byte, list []Change, apply func([]byte, *place) ([]byte, error)) ([]Change, error) {
	if list == nil {
		return nil, nil
	}
	applied := make([]Change, len(list))
	for i, c := range list {
		p := place{key: k, what: what, channel: c.Channel, kind: c.Kind, index: i, count: len(list)}
		data, err := apply(c.Data, &p)
		if err != nil {
			return nil, err
		}
		c.Data = data
		applied[i] = c
	}
	return applied, nil
}

func (s *sealer) writes(k Key, list []Write, apply func([]byte, *place) ([]byte, error)) ([]Write, error) {
	if list == nil {
		return nil, nil
	}
	applied := make([]Write, len(list))
	for i, w := range list {
		p := place{key: k, what: sealedWrite, channel: w.Channel, kind: w.Kind, task: w.Task, index: w.Index}
		data, err := apply(w.Data, &p)
		if err != nil {
			return nil, err
		}
		w.Data = data
		applied[i] = w
	}
	return applied, nil
}

// sealed is seal in the shape of open.
func (s *sealer) sealed(data []byte, p *place) ([]byte, error) { return s.seal(data, p), nil }
